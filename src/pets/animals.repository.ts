import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { copyOutput, queryRows } from '#platform';
import type { NewPet } from './dto/new-pet.dto.js';
import type { Pet, PetStatus } from './pet.entity.js';

/** Selects animals. An omitted condition selects all. */
export interface Selection {
  ids?: readonly bigint[];
  status?: PetStatus;
  category?: bigint;
  limit?: number;
}

const LIST = `
  SELECT pet.id, pet.name, category_id AS "categoryId", status, pet.created_at AS "addedAt",
         created_by_key_id AS "keyId", owner.name AS owner
    FROM pets AS pet
    LEFT JOIN api_keys AS key ON key.id = created_by_key_id
    LEFT JOIN owners AS owner ON owner.id = owner_id
   WHERE ($1::bigint[] IS NULL OR pet.id = ANY ($1)) AND ($2::text IS NULL OR status = $2)
     AND ($3::bigint IS NULL OR category_id = $3)
   ORDER BY pet.id DESC LIMIT $4`;

const COUNT = `
  SELECT count(*) FILTER (WHERE status = 'available') AS available,
         count(*) FILTER (WHERE status = 'pending') AS pending,
         count(*) FILTER (WHERE status = 'sold') AS sold, count(*) AS total FROM pets`;

const CREATE_DRAFTS = `
  CREATE TEMP TABLE IF NOT EXISTS drafts
    (number bigserial, name text, category_id bigint, status text) ON COMMIT DROP`;
const ADD_DRAFTS = `
  INSERT INTO drafts (name, category_id, status)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])`;
const ADD = `
  WITH added AS (
    INSERT INTO pets (name, category_id, status)
    SELECT name, category_id, status FROM drafts ORDER BY number RETURNING id)
  SELECT count(*) AS added, min(id) AS "firstId", max(id) AS "lastId" FROM added`;

const LOCK = 'SELECT FROM pets WHERE id = ANY ($1) ORDER BY id FOR UPDATE';

/** JSON contains neither character, so that COPY writes it unchanged. */
const AS_TEXT = String.raw`(FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')`;
const FORMATS = {
  csv: ['*', '(FORMAT csv, HEADER)'],
  ndjson: ['row_to_json(pet)', AS_TEXT],
  json: [`concat(CASE WHEN row_number() OVER () > 1 THEN ',' END, row_to_json(pet))`, AS_TEXT],
} as const;

export type ExportFormat = keyof typeof FORMATS;

/** The statements of the commands. */
@Injectable()
export class AnimalsRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns animals, the newest first, with when, by which API key and by which owner they were added. */
  list({ ids, status, category, limit }: Selection) {
    type Listed = Pet & { addedAt: Date; keyId: bigint | null; owner: string | null };
    return queryRows<Listed>(this.dataSource, LIST, [ids, status, category, limit]);
  }

  async count() {
    const [counts] = await queryRows<Record<string, bigint>>(this.dataSource, COUNT);
    return counts;
  }

  /** Locks animals in the open transaction. @throws Error if another one locks one of them */
  async lock(ids: readonly bigint[]): Promise<void> {
    // While it waits for one row, it keeps the locks of the rows before it, so the wait is short.
    await queryRows(this.dataSource, "SET LOCAL lock_timeout = '500ms'");
    await queryRows(this.dataSource, LOCK, [ids]).catch((cause: unknown) => {
      if ((cause as { code?: string }).code !== '55P03') throw cause;
      throw new Error('Another transaction changes one of these animals. Try again.', { cause });
    });
  }

  /**
   * Stores animals in a temporary table, which only this transaction sees. In the table of animals, lists
   * would have to skip the uncommitted rows.
   */
  async addDrafts(pets: readonly NewPet[]): Promise<void> {
    await queryRows(this.dataSource, CREATE_DRAFTS);
    const columns = (['name', 'categoryId', 'status'] as const).map((name) =>
      pets.map((pet) => pet[name]),
    );
    await queryRows(this.dataSource, ADD_DRAFTS, columns);
  }

  /** Adds the drafts as animals, in their order. Returns their number and the range of their ids. */
  async addAnimals() {
    type Added = Record<'added' | 'firstId' | 'lastId', bigint | null>;
    const [added] = await queryRows<Added>(this.dataSource, ADD);
    return added;
  }

  /** Yields the text of animals in the order of their ids. */
  async *export(format: ExportFormat, status?: PetStatus) {
    const [columns, options] = FORMATS[format];
    // COPY has no parameters.
    const condition = status ? `WHERE status = '${status}'` : '';
    const pets = `SELECT name, category_id AS "categoryId", status FROM pets ${condition} ORDER BY id`;
    if (format === 'json') yield '[\n';
    yield* copyOutput(
      this.dataSource,
      `COPY (SELECT ${columns} FROM (${pets}) AS pet) TO STDOUT ${options}`,
    );
    if (format === 'json') yield ']\n';
  }
}
