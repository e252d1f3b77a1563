import { createReadStream } from 'node:fs';
import { Controller, Get, Module, StreamableFile } from '@nestjs/common';

@Controller('certificates')
export class CertificatesController {
  @Get('1')
  download(): StreamableFile {
    const file = createReadStream('package.json');
    return new StreamableFile(file, {
      type: 'application/json',
      disposition: 'attachment; filename="certificate.json"',
    });
  }

  @Get('2')
  missing(): StreamableFile {
    return new StreamableFile(createReadStream('missing.pdf'));
  }
}

@Module({ controllers: [CertificatesController] })
export class CertificatesModule {}
