// Components of readiness whose state a test chooses.
import { Body, Controller, Get, Module, Param, Post, Put } from '@nestjs/common';
import { Public, Readiness } from '#platform';

type Names = 'search' | 'mail';

const NEVER = new Promise(() => undefined);
const refuse = () => {
  throw new Error('refused');
};

/** What a check does. */
const CHECKS: Record<string, () => unknown> = {
  up: () => 'pong',
  true: () => true,
  nothing: () => Promise.resolve(),
  hangs: () => NEVER,
  fails: () => Promise.reject(new Error('refused')),
  throws: refuse,
  false: () => false,
  'read-only': () => 'read-only',
};

@Public()
@Controller('components')
class ComponentsController {
  private chosen: Record<Names, string> = { search: 'up', mail: 'up' };
  /** What the next check of the search waits for. */
  private held = Promise.resolve();
  private checks = 0;

  constructor(private readonly readiness: Readiness) {
    const search = async () => {
      this.checks++;
      await this.held;
      return CHECKS[this.chosen.search]?.();
    };
    readiness.add('search', { required: true, limitMs: 50, check: search });
    readiness.add('mail', { limitMs: 50, check: () => CHECKS[this.chosen.mail]?.() });
  }

  @Put()
  choose(@Body() chosen: Record<Names, string>) {
    this.chosen = chosen;
  }

  /** Adds a component. Returns why that has failed. */
  @Post(':name')
  add(@Param('name') name: string) {
    try {
      this.readiness.add(name, { check: refuse });
      return { failure: null };
    } catch (error) {
      return { failure: (error as Error).message };
    }
  }

  /** Asks for reports at once, and then for one more. Returns how many checks there were each time. */
  @Get('shared')
  async share() {
    let release = (): void => undefined;
    this.held = new Promise((resolve) => (release = resolve));
    this.checks = 0;
    const reports = Array.from({ length: 20 }, () => this.readiness.report());
    await Promise.resolve();
    release();
    const statuses = new Set((await Promise.all(reports)).map(({ status }) => status));
    const { checks } = this;
    await this.readiness.report();
    return { statuses: [...statuses], checks: [checks, this.checks] };
  }
}

@Module({ controllers: [ComponentsController] })
class ComponentsFeature {}
export default [ComponentsFeature];
