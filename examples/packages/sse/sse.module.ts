import { Controller, type MessageEvent, Module, Sse } from '@nestjs/common';
import { interval, map, type Observable, take } from 'rxjs';

@Controller('arrivals')
export class ArrivalsController {
  @Sse()
  arrivals(): Observable<MessageEvent> {
    return interval(50).pipe(
      take(3),
      map((number) => ({ data: { number } })),
    );
  }
}

@Module({ controllers: [ArrivalsController] })
export class ArrivalsModule {}
