import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { Response } from 'express';
import { map, type Observable } from 'rxjs';

/** Sends the version of a row as the `ETag` of the response, not as a property. */
@Injectable()
export class VersionTagInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<Versioned>): Observable<object> {
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(
      map(({ version, ...properties }) => {
        response.setHeader('ETag', `"${version}"`);
        return properties;
      }),
    );
  }
}

interface Versioned {
  version: number;
}

/**
 * Returns the versions that `If-Match` lists, or undefined for `*`, which every version matches. A weak
 * tag matches none (RFC 9110, section 13.1.1).
 */
export function versionsIn(ifMatch: string): number[] | undefined {
  if (ifMatch === '*') return undefined;
  const tags = ifMatch.split(',').map((tag) => /^"(\d{1,9})"$/.exec(tag.trim())?.[1]);
  return tags.filter((tag) => tag !== undefined).map(Number);
}
