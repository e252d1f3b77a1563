import {
  Controller,
  Get,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
} from '@nestjs/common';
import { InjectDataSource, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import {
  DataSource,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  Repository,
} from 'typeorm';
import { Room, Shelter } from './shelter.entity.js';

@Injectable()
@EventSubscriber()
export class ShelterSubscriber implements EntitySubscriberInterface<Shelter> {
  constructor(@InjectDataSource() dataSource: DataSource) {
    dataSource.subscribers.push(this);
  }

  listenTo(): typeof Shelter {
    return Shelter;
  }

  beforeInsert({ entity }: InsertEvent<Shelter>): void {
    entity.city = entity.city.toUpperCase();
  }
}

@Controller('shelters')
export class SheltersController {
  constructor(@InjectRepository(Shelter) private readonly shelters: Repository<Shelter>) {}

  @Get(':city')
  async get(@Param('city') city: string): Promise<Shelter> {
    const shelter = await this.shelters.findOne({ where: { city }, relations: { rooms: true } });
    if (shelter === null) throw new NotFoundException('No shelter is in this city.');
    return shelter;
  }

  @Post()
  create(): Promise<Shelter> {
    return this.shelters.save({ city: 'Bonn', rooms: [{ name: 'cats' }, { name: 'dogs' }] });
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([Shelter, Room])],
  controllers: [SheltersController],
  providers: [ShelterSubscriber],
})
export class SheltersModule {}
