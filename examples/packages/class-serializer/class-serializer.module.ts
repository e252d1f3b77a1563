import {
  type CallHandler,
  ClassSerializerInterceptor,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type NestInterceptor,
  NotFoundException,
  UseInterceptors,
} from '@nestjs/common';
import { Exclude, Expose } from 'class-transformer';
import { map, type Observable } from 'rxjs';

export class Volunteer {
  name = 'Ann';

  @Exclude()
  password = 'secret';

  @Expose()
  get initial(): string {
    return this.name.charAt(0);
  }
}

@Injectable()
export class DataInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

@Controller('volunteers')
@UseInterceptors(DataInterceptor, ClassSerializerInterceptor)
export class VolunteersController {
  @Get('1')
  get(): Volunteer {
    return new Volunteer();
  }

  @Get(':id')
  missing(): never {
    throw new NotFoundException('No such volunteer.');
  }
}

@Module({
  controllers: [VolunteersController],
})
export class VolunteersModule {}
