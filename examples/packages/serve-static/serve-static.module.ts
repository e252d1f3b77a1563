import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { ServeStaticModule } from '@nestjs/serve-static';

@Module({
  imports: [
    ServeStaticModule.forRoot({
      rootPath: join(import.meta.dirname, '..', '..', 'src', 'serve-static', 'public'),
      serveRoot: '/shop',
    }),
  ],
})
export class ShopModule {}
