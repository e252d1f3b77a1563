// Operations with an idempotency key, behind interceptors.
import {
  Body,
  Controller,
  HttpCode,
  Module,
  type NestInterceptor,
  Param,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { IsString } from 'class-validator';
import { ClsService } from 'nestjs-cls';
import { map } from 'rxjs';
import { Caller, Idempotency, IdempotencyKey, IdempotencyModule, ServiceError } from '#platform';

class NewNote {
  @IsString()
  text!: string;

  @IsString()
  author!: string;
}

const VALUES = {
  int64: 9223372036854775807n,
  double: 0.1234567890123456,
  far: 1e21,
  text: '12345678901234567890 \u2028 🐈',
  date: new Date('2027-01-01T00:00:00Z'),
  missing: undefined,
  list: [undefined, -0, [9007199254740993n]],
};

let runs = 0;
let conflicts = 0;
const WORKS: Readonly<Record<string, () => unknown>> = {
  created: () => ({ run: ++runs, ...VALUES }),
  nothing: () => undefined,
  null: () => null,
  conflict: () => {
    if (conflicts++ === 0) throw new ServiceError('conflict', 'The note is being edited.');
    return {};
  },
};

const envelope: NestInterceptor = {
  intercept: (_context, next) =>
    next.handle().pipe(map((data?: { int64: bigint }) => ({ data, type: typeof data?.int64 }))),
};

/** Wraps a method, as decorators of packages do. */
const Wrapped = (): MethodDecorator => (_type, _name, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = async function (...args: unknown[]) {
    return await method.apply(this, args);
  };
};

@Controller('notes')
class NotesController {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly cls: ClsService,
  ) {}

  @Post('create/:work')
  create(
    @Body() note: NewNote,
    @Caller() { ownerId }: Caller,
    @Param('work') work: string,
    @IdempotencyKey() key?: IdempotencyKey,
  ) {
    const run = () => Promise.resolve(WORKS[work]?.());
    if (key === undefined) return run();
    return this.idempotency.once({ ownerId, key, operation: work, content: note }, run);
  }

  @Post('enveloped/:work')
  @HttpCode(202)
  @UseInterceptors(envelope)
  enveloped(
    @Body() note: NewNote,
    @Caller() caller: Caller,
    @Param('work') work: string,
    @IdempotencyKey() key?: IdempotencyKey,
  ) {
    return this.create(note, caller, work, key);
  }

  @Post('wrapped/:work')
  @Wrapped()
  wrapped(
    @Body() note: NewNote,
    @Caller() caller: Caller,
    @Param('work') work: string,
    @IdempotencyKey() key?: IdempotencyKey,
  ) {
    return this.create(note, caller, work, key);
  }

  /** In a context of its own, as in a queue. */
  @Post('detached/:work')
  detached(
    @Body() note: NewNote,
    @Caller() caller: Caller,
    @Param('work') work: string,
    @IdempotencyKey() key?: IdempotencyKey,
  ) {
    return this.cls.exit(() => this.create(note, caller, work, key));
  }

  /** The key is not that of the request, and its content ends with a property that has no value. */
  @Post('nightly/:work')
  nightly(@Body() note: NewNote, @Caller() { ownerId }: Caller, @Param('work') work: string) {
    const request = { ownerId, key: 'nightly', operation: work, content: [note, undefined] };
    return this.idempotency.once(request, () => Promise.resolve(WORKS[work]?.()));
  }
}

@Module({ imports: [IdempotencyModule], controllers: [NotesController] })
class NotesFeature {}
export default [NotesFeature];
