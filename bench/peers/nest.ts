// NestJS as in its documentation: throttler with one window, ValidationPipe, TypeORM's find and save.
// No API keys. The cost of the throttler grows with the requests per minute, because it iterates over
// all requests of the window.
import 'reflect-metadata';
import {
  Body,
  Controller,
  Get,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  ValidationPipe,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { Column, Entity, PrimaryGeneratedColumn, Repository } from 'typeorm';

const STATUSES = ['available', 'pending', 'sold'];

@Entity('pets')
class Pet {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  name!: string;

  @Column('bigint', { name: 'category_id' })
  categoryId!: number;

  @Column('text', { default: 'available' })
  status!: string;
}

class ListPetsQuery {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 20;
}

class NewPet {
  @IsString()
  @Length(1, 255)
  name!: string;

  @IsInt()
  categoryId!: number;

  @IsOptional()
  @IsIn(STATUSES)
  status?: string;
}

@Controller('v1/pets')
class PetsController {
  constructor(@InjectRepository(Pet) private readonly pets: Repository<Pet>) {}

  @Get()
  list(@Query() { limit }: ListPetsQuery): Promise<Pet[]> {
    return this.pets.find({ order: { id: 'ASC' }, take: limit });
  }

  @Post()
  create(@Body() pet: NewPet): Promise<Pet> {
    return this.pets.save(this.pets.create(pet));
  }

  @Get(':petId')
  async get(@Param('petId', ParseIntPipe) petId: number): Promise<Pet> {
    const pet = await this.pets.findOneBy({ id: petId });
    if (!pet) throw new NotFoundException();
    return pet;
  }
}

@Module({
  imports: [
    ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1_000_000_000 }]),
    TypeOrmModule.forRoot({
      type: 'postgres',
      entities: [Pet],
      parseInt8: true,
      poolSize: Number(process.env['POOL_SIZE']),
    }),
    TypeOrmModule.forFeature([Pet]),
  ],
  controllers: [PetsController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
class AppModule {}

const options = { logger: ['error' as const, 'warn' as const] };
const app = await NestFactory.create(AppModule, options);
app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true }));
await app.listen(Number(process.env['PORT']), '127.0.0.1');
