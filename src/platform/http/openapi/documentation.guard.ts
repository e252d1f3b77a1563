import { type CanActivate, Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { ServiceError } from '../../errors/service-error.js';

/** 404 with `DOCS=false`. */
@Injectable()
export class DocumentationGuard implements CanActivate {
  constructor(private readonly settings: Settings) {}

  canActivate(): boolean {
    if (this.settings.server.docs) return true;
    throw new ServiceError('route_not_found');
  }
}
