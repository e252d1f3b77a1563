// Everything that a feature may use of the platform, imported as `#platform`. A change of an export
// that breaks a feature is a major version.

// --- The root module -------------------------------------------------------------------------------

/**
 * The platform, which the root module imports:
 * `@Module({ imports: [PlatformModule.forRoot({ product: PRODUCT, plans: PLANS }), ToysModule] }) class AppModule {}`.
 */
export { PlatformModule } from './platform.module.js';

// --- Who sends a request ---------------------------------------------------------------------------

/** The owner, the plan and the API key of a request: `add(@Caller() caller: Caller)`. */
export { Caller } from './access/caller.decorator.js';
/** The same in a guard or an interceptor: `callerOf(context).plan`. */
export { callerOf } from './access/caller.decorator.js';
/** The same for a global guard or interceptor: null if a `@Public()` route gets no valid API key. */
export { findCaller } from './access/caller.decorator.js';
/** A route or a controller that needs no API key. */
export { Public } from './http/request/public.decorator.js';

// --- Input -----------------------------------------------------------------------------------------

/** A property that is an int64. The DTO holds it as a bigint: `@IsInt64() categoryId!: bigint`. */
export { IsInt64 } from './http/validation/property-rules.js';
/** One of the given strings: `@IsOneOf(['red', 'blue']) color!: string`. */
export { IsOneOf } from './http/validation/property-rules.js';
/** A property that may be missing, but not null. */
export { IsOptionalMember } from './http/validation/property-rules.js';
/** A string with a number of Unicode code points: `@IsText(1, 255) name!: string`. */
export { IsText } from './http/validation/property-rules.js';
/** The DTO of a PATCH: `class ToyChanges extends ChangesOf(NewToy) {}`. A missing property stays as it is. */
export { ChangesOf } from './http/validation/changes-of.js';
/** Checks values of a file by the rules of a DTO: `await toDto(NewToy, row)`. */
export { toDto } from './http/validation/dto-validation.pipe.js';
/** The values of a DTO in the order of its rules: `content: valuesOf(toy)` of an idempotent request. */
export { valuesOf } from './http/validation/dto-validation.pipe.js';
/** Parses a JSON text as that of a body, with every digit of an int64. */
export { parseJson } from './http/body/parse-json.js';
/** Limits of a body for a route or a controller: `@BodyLimit({ bytes: 2_000_000, values: 50_000 })`. */
export { BodyLimit } from './http/body/body.guard.js';
/** An int64 in a path: `@Param('toyId', new Int64Pipe(toyNotFound)) toyId: bigint`. */
export { Int64Pipe } from './http/validation/int64.pipe.js';

// --- Lists -----------------------------------------------------------------------------------------

/** The query parameters `limit` and `cursor`. A subclass adds filters. */
export { PageQuery } from './http/paging/page-cursor.js';
/** The result of a list: an array of items that knows where the next page begins. */
export { Page } from './http/response/page.js';
/** The sort order of a list: `new PageCursor('timestamp', 'bigint')`. It reads cursors and creates pages. */
export { PageCursor } from './http/paging/page-cursor.js';

// --- The OpenAPI description, in addition to the decorators of `@nestjs/swagger` -----------------

/** The errors that an operation itself sends: `@ApiErrors(TOY_NOT_FOUND, { conflict: 'Sold.' })`. */
export { ApiErrors } from './http/openapi/api.decorators.js';
/** A response with a page: `@ApiPage(Toy, 'A page of toys.')`. */
export { ApiPage } from './http/openapi/api.decorators.js';
/** The schema of an int64: `@ApiProperty({ ...INT64, description: '…' })`. */
export { INT64 } from './http/openapi/api.decorators.js';
/** A sentence for the 405 of other methods: `@NotAllowedHint('Toys cannot be changed.')`. */
export { NotAllowedHint } from './http/routing/route-table.js';
/** An operation with a date from which the response is 410. */
export { Deprecated } from './http/routing/deprecation.guard.js';

// --- Errors ----------------------------------------------------------------------------------------

/** The error that a service throws: `throw new ServiceError(TOY_NOT_FOUND)`. */
export { ServiceError } from './errors/service-error.js';
/** An error that a feature declares, with its code, status and public message. */
export type { FeatureError } from './errors/catalogue.js';

// --- Database, in addition to TypeORM --------------------------------------------------------------

/** The rows of a statement of one's own: `await queryRows<Toy>(manager, SQL, [id])`. */
export { queryRows } from './database/sql.js';
/** The foreign key that a statement has violated, to say which rows refer to it. Otherwise it is a 409. */
export { findViolatedReference } from './database/database-errors.js';
/** Locks rows for a short time: `await withShortLocks(manager, () => toys.delete(…))`. */
export { withShortLocks } from './database/short-locks.js';
/** TypeORM's repository with `selectRows` and `insertRow`: `@InjectRepository(Toy) toys: PipelinedRepository<Toy>`. */
export { PipelinedRepository } from './database/pipelining/pipelined-repository.js';
/** Other statements that share round trips, for measured cases. */
export { PipelinedStatements } from './database/pipelining/pipelined-statements.js';

// --- Conditions, retries and events ----------------------------------------------------------------------------

/** The `If-Match` of a request that changes something: `@IfMatch() ifMatch?: IfMatch`. */
export { IfMatch } from './http/response/if-match.js';
/** Executes a request once, however often it is sent with the same key. */
export { Idempotency } from './idempotency/idempotency.js';
/** The `Idempotency-Key` of a request: `add(@IdempotencyKey() key?: IdempotencyKey)`. */
export { IdempotencyKey } from './idempotency/idempotency-key.guard.js';
/** The module of `Idempotency`. */
export { IdempotencyModule } from './idempotency/idempotency.module.js';
/** Publishes events that are committed with a change and delivered afterwards. */
export { Events } from './events/events.js';
/** A method that handles an event: `@OnOutboxEvent('order.created')`. */
export { OnOutboxEvent } from './events/events.js';
/** The module of `Events`. */
export { EventsModule } from './events/events.module.js';

// --- Administration and commands -------------------------------------------------------------------

/** A method that is a command: `@Command('sell', 'sell toys')` of the group `toys` is `toys sell`. */
export { Command } from './commands/command.decorator.js';
/** The groups of commands, which `src/commands.ts` lists. */
export type { CommandGroups } from './commands/command.decorator.js';
/** Asks the operator for confirmation, and shows notes and progress. */
export { Terminal } from './commands/terminal.js';
/** Parsers of arguments, and an option: `command.argument('<ids...>', 'the ids', each(parseInt64Argument)).option(...YES_OPTION)`. */
export { countUpTo, each, parseInt64Argument, YES_OPTION } from './commands/arguments.js';
/** Imports, updates and exports the rows of an entity: `rowFiles.import({ name: 'toys', entity: Toy, dto: NewToy }, path, options)`. */
export { RowFiles } from './commands/files/row-files.js';
/** The module of `RowFiles`. */
export { FilesModule } from './commands/files/files.module.js';
/** The argument and options of a command that calls `RowFiles.import`, `update` or `export`. */
export {
  exportArguments,
  importArguments,
  updateArguments,
} from './commands/files/file-options.js';
export type { ExportOptions, ImportOptions, UpdateOptions } from './commands/files/file-options.js';
/** The options of a command that changes properties of a DTO: `changeArguments(NewToy, Toy)`. */
export { changeArguments } from './commands/files/property-options.js';
/** Records a change of an operator, in the open transaction: `audit.record('toys sell', { ids })`. */
export { AuditTrail } from './access/administration/operator-actions.repository.js';
/** Issues, rotates and revokes API keys, in the open transaction: `keys.issue('Ann', plan)`. */
export { KeyAdministration } from './access/administration/key-administration.js';
/** The module of `AuditTrail` and `KeyAdministration`. */
export { AdministrationModule } from './access/administration/administration.module.js';

// --- Surroundings ----------------------------------------------------------------------------------

/** The time, which tests set: `clock.now()`, in milliseconds since the epoch. */
export { Clock } from './config/clock.js';
/** The settings of a feature: `readSettings((read) => ({ url: read.text('TOYS_URL') }))`. */
export { readSettings } from './config/environment-reader.js';
/** The token of the pino logger of the process, for packages that need one. */
export { LOGGER } from './logging/logger.js';
/** The components of `/health/ready`: `readiness.add('search', { check: () => search.ping() })`. */
export { Readiness } from './health/readiness.js';
