import {
  DEMO_ACTION,
  findDemo,
} from '../../../../src/platform/access/administration/demo-owner.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';

const database = useDatabase();
const runner = {
  query: async <Rows>(sql: string, values?: unknown[]) =>
    (await database.query(sql, values)) as Rows,
};

test('the demo owner is found by its recorded ids, and by the same transaction if an earlier release added it', async () => {
  const [first, second] = [await createOwner(database), await createOwner(database)];
  const record = (action: string, details: object) =>
    database.query(
      "INSERT INTO operator_actions (performed_at, actor, action, details) VALUES ('2026-01-01', 'a', $1, $2)",
      [action, details],
    );
  await record(DEMO_ACTION, {});
  await record('keys issue', { keyId: Number(first.keyId), isNewOwner: true });
  expect(await findDemo(runner)).toEqual({
    owners: [Number(first.id)],
    api_keys: [Number(first.keyId)],
  });
  await database.query('UPDATE operator_actions SET details = $1 WHERE action = $2', [
    { demoKeyId: Number(second.keyId), isNewOwner: false },
    DEMO_ACTION,
  ]);
  expect(await findDemo(runner)).toEqual({ owners: [], api_keys: [Number(second.keyId)] });
});
