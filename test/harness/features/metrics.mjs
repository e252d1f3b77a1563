// @ts-check
// A feature that returns the metrics of the application that it is part of.
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ServiceMetrics } from '#dist/platform/metrics/service-metrics.js';

class MetricsController {
  /** @param {ModuleRef} modules */
  constructor(modules) {
    this.modules = modules;
  }

  metrics() {
    return this.modules.get(ServiceMetrics, { strict: false }).registry.metrics();
  }
}
Controller({ path: 'metrics', version: '1' })(MetricsController);
Inject(ModuleRef)(MetricsController, undefined, 0);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(MetricsController.prototype, 'metrics')
);
Get()(MetricsController.prototype, 'metrics', method);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class ReadMetricsModule {}
Module({ controllers: [MetricsController] })(ReadMetricsModule);

export default [ReadMetricsModule];
