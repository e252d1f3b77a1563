// A feature with roles per API key, for routes that not every API key may use.
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  UseGuards,
} from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Entity, PrimaryColumn, Repository } from 'typeorm';
import { Caller, callerOf } from '#platform';

/** A role of all rotations of an API key. */
@Entity('test_key_roles')
class KeyRole {
  @PrimaryColumn('bigint', { name: 'first_key_id' })
  firstKeyId!: bigint;

  @PrimaryColumn('text')
  role!: string;
}

@Injectable()
class CuratorGuard implements CanActivate {
  constructor(@InjectRepository(KeyRole) private readonly roles: Repository<KeyRole>) {}

  canActivate(context: ExecutionContext): Promise<boolean> {
    const { firstKeyId } = callerOf(context);
    return this.roles.existsBy({ firstKeyId, role: 'curator' });
  }
}

@Controller('shows')
class ShowsController {
  @Get('mine')
  @UseGuards(CuratorGuard)
  list(@Caller() { keyId, firstKeyId }: Caller) {
    return { keyId, firstKeyId };
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([KeyRole])],
  controllers: [ShowsController],
  providers: [CuratorGuard],
})
class RolesFeature {}
export default [RolesFeature];
