import { ApiProperty } from '@nestjs/swagger';
import { Allow } from 'class-validator';
import { IsIntegerParameter } from '../validation/property-rules.js';

const MAX_PAGE_SIZE = 100;
const DEFAULT_PAGE_SIZE = 20;

/**
 * The query parameters of a list. A subclass adds the filters and the sort order of the list: a
 * cursor is valid only with the same values of them. Add new ones at the end of the class, so that
 * the cursors that clients hold stay valid.
 */
export class PageQuery {
  @ApiProperty({
    default: DEFAULT_PAGE_SIZE,
    required: false,
    description: `Maximum number of items on the page: 1 to ${MAX_PAGE_SIZE}, by default ${DEFAULT_PAGE_SIZE}. Unknown parameters, such as \`page\`, are ignored.`,
  })
  @IsIntegerParameter(1, MAX_PAGE_SIZE)
  limit: number = DEFAULT_PAGE_SIZE;

  /** Not validated here: an invalid cursor has an error code of its own. */
  @ApiProperty({
    type: 'string',
    required: false,
    description:
      'Position of the page, copied unchanged from the `Link` header of the previous page.',
  })
  @Allow()
  cursor?: unknown;
}
