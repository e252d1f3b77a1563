import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Injectable,
} from '@nestjs/common';
import { callerOf } from '#platform';

/** Only owners with the plan Business or Enterprise may use the route. */
@Injectable()
export class BusinessPlanGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (['business', 'enterprise'].includes(callerOf(context).plan)) return true;
    throw new ForbiddenException('This operation needs the plan Business.');
  }
}
