// Exception filters of a team: one for the whole application, which translates, and some of a route.
import {
  type ArgumentsHost,
  BadRequestException,
  Body,
  Catch,
  Controller,
  Get,
  Module,
  NotFoundException,
  Post,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Type } from 'class-transformer';
import { IsIn, IsString, ValidateNested } from 'class-validator';
import type { Response } from 'express';
import { ServiceError } from '#platform';

const TRANSLATIONS: Record<string, string> = { isString: 'muss Text sein', isIn: 'ist unbekannt' };

@Catch(ServiceError)
class TranslatingFilter {
  catch({ status, invalidProperties }: ServiceError, host: ArgumentsHost) {
    const translated = invalidProperties.map(
      ({ property, rule, message }) => `${property} ${TRANSLATIONS[rule] ?? message}`,
    );
    host.switchToHttp().getResponse<Response>().status(status).json({ translated });
  }
}

@Catch()
class PlainFilter {
  catch(_exception: unknown, host: ArgumentsHost) {
    host.switchToHttp().getResponse<Response>().status(422).send('plain');
  }
}

class Part {
  @IsString()
  name!: string;
}

class Letter {
  @IsIn(['a', 'b'], { each: true })
  kinds!: string[];

  @ValidateNested({ each: true })
  @Type(() => Part)
  parts!: Part[];

  @IsString({ each: false })
  title!: string;
}

@Controller('letters')
class LettersController {
  @Post()
  add(@Body() letter: Letter) {
    return letter;
  }

  @Get('class')
  @UseFilters(PlainFilter)
  filteredByClass() {
    throw new NotFoundException();
  }

  @Get('instance')
  @UseFilters(new PlainFilter())
  filteredByInstance() {
    throw new BadRequestException('No.');
  }

  @Get('defect')
  @UseFilters(PlainFilter)
  fail() {
    throw new Error('the inside');
  }
}

@Module({
  controllers: [LettersController],
  providers: [{ provide: APP_FILTER, useClass: TranslatingFilter }],
})
class LettersFeature {}
export default [LettersFeature];
