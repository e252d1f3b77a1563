import { Injectable } from '@nestjs/common';
import { CONTROLLER_WATERMARK, VERSION_METADATA } from '@nestjs/common/internal';
import { DiscoveryService } from '@nestjs/core';
import { routeNotFoundMessage } from '../../errors/catalogue.js';
import { ServiceError } from '../../errors/service-error.js';
import { decoratedTargets } from '../request/handler.js';

/** The version of a controller that declares none, as those that the Nest CLI generates. */
export const DEFAULT_VERSION = '1';

/** The versions of the API, which controllers and handlers declare. */
@Injectable()
export class ApiVersions {
  private readonly known: string[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  /** What the paths of each version begin with, such as `/v1/`. */
  get prefixes(): readonly string[] {
    if (this.known.length === 0) this.known.push(...this.find());
    return this.known;
  }

  /** The message for a path without a route, which names the versions. */
  get routeNotFoundMessage(): string {
    return routeNotFoundMessage(...this.prefixes);
  }

  /** Returns the 404 for a path without a route. @param hint follows the message */
  routeNotFound(hint = ''): ServiceError {
    return new ServiceError('route_not_found', this.routeNotFoundMessage + hint);
  }

  private find(): string[] {
    const declared = decoratedTargets(this.discovery).flatMap(([, target]): unknown => {
      const isController = Reflect.hasMetadata(CONTROLLER_WATERMARK, target);
      const version: unknown = Reflect.getMetadata(VERSION_METADATA, target);
      return version ?? (isController ? DEFAULT_VERSION : []);
    });
    // The others are VERSION_NEUTRAL.
    const versions = new Set(declared.filter((version) => typeof version === 'string'));
    return [...versions]
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
      .map((version) => `/v${version}/`);
  }
}
