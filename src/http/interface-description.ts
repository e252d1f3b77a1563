import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { Clock } from '../config/clock.js';
import type { Settings } from '../config/settings.js';

export function serveInterfaceDescription(
  app: NestExpressApplication,
  _environment: { settings: Settings; clock: Clock },
): void {
  SwaggerModule.setup('docs', app, () =>
    SwaggerModule.createDocument(app, new DocumentBuilder().setVersion('1.0.0').build()),
  );
}
