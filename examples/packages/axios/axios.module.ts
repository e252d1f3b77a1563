import { HttpModule, HttpService } from '@nestjs/axios';
import { BadGatewayException, Controller, Get, Module } from '@nestjs/common';
import { catchError, map, type Observable } from 'rxjs';
import { PublicUrl } from '../platform/http/routing/public-url.js';

@Controller('upstream')
export class UpstreamController {
  constructor(
    private readonly http: HttpService,
    private readonly publicUrl: PublicUrl,
  ) {}

  @Get()
  version(): Observable<{ openapi: string }> {
    return this.http
      .get<{ openapi: string }>(this.publicUrl.urlOf('/openapi.json'))
      .pipe(map(({ data }) => ({ openapi: data.openapi })));
  }

  @Get('down')
  unreachable(): Observable<unknown> {
    return this.http.get('http://127.0.0.1:9/').pipe(map(({ data }): unknown => data));
  }

  @Get('translated')
  translated(): Observable<unknown> {
    return this.http.get('http://127.0.0.1:9/').pipe(
      map(({ data }): unknown => data),
      catchError((error: unknown) => {
        throw new BadGatewayException('The upstream is unavailable.', { cause: error });
      }),
    );
  }
}

@Module({
  imports: [HttpModule.register({ timeout: 5_000, maxRedirects: 5 })],
  controllers: [UpstreamController],
})
export class UpstreamModule {}
