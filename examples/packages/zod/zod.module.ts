import {
  BadRequestException,
  Body,
  Controller,
  Module,
  type PipeTransform,
  Post,
  UsePipes,
} from '@nestjs/common';
import { z } from 'zod';

const newDonation = z.object({ donor: z.string().max(50), cents: z.int().positive() });
type NewDonation = z.infer<typeof newDonation>;

export class ZodValidationPipe implements PipeTransform {
  constructor(private readonly schema: z.ZodType) {}

  transform(value: unknown): unknown {
    const { success, data, error } = this.schema.safeParse(value);
    if (!success) throw new BadRequestException(z.prettifyError(error));
    return data;
  }
}

@Controller('donations')
export class DonationsController {
  @Post()
  @UsePipes(new ZodValidationPipe(newDonation))
  create(@Body() donation: NewDonation): NewDonation {
    return donation;
  }
}

@Module({ controllers: [DonationsController] })
export class DonationsModule {}
