package picodata_test

import (
	"testing"

	"brunt/test/testserver"
)

// shim makes a Tarantool a stand-in for Picodata over iproto: it says that it is one, keeps a
// catalogue of tables, takes SQL by CALL alone, runs DDL without what only Picodata understands, bounds
// the work of a statement, words its errors as Picodata does, and never drops the table brunt_stuck, as
// with a node down.
const shim = `
box.schema.space.create('_pico_table', {if_not_exists = true, format = {{'name', 'string'}}})
box.space._pico_table:create_index('pk', {if_not_exists = true, parts = {1, 'string'}})
box.schema.func.create('.proc_version_info', {if_not_exists = true, body = [[function() return {picodata_version = '25.3.1', rpc_api_version = '1.0.0'} end]]})
box.schema.func.create('.proc_sql_dispatch', {if_not_exists = true, body = [[function(q, p)
  local function fail(text) box.error{code = 10028, reason = text} end
  local options = ' OPTION %(sql_[%w_ =,]+%)'
  if q:match('^EXPLAIN .*' .. options) then fail('rule parsing error:  --> 1:1\n  |\n  = expected EOI or DqlOption') end
  if q:match('"id" = .one.') then fail('sbroad: could not resolve operator overload for =(int, text)') end
  q = q:gsub(options, ''):gsub('^(%w+)  ', '%1 ')
  if q:match('^DROP TABLE.-"brunt_stuck"') then require('fiber').sleep(3600) end
  local table = q:match('^CREATE TABLE.-"([^"]+)"')
  q = q:gsub(' OPTION %(TIMEOUT = [%d.]+%)', ''):gsub(' DISTRIBUTED BY %b()', ''):gsub(' DISTRIBUTED GLOBALLY', ''):gsub(' IN TIER "[^"]*"', ''):gsub(' USING memtx', '')
  q = q:gsub(' USING TREE', ''):gsub(' WITH %b()', ''):gsub(' DATETIME', ' INTEGER'):gsub(' UUID', ' SCALAR'):gsub(' TEXT', ' STRING')
  q = q:gsub('^(DROP INDEX.-"[^"]+")$', '%1 ON "cars"')
  q = q:gsub('^(INSERT)(.-) ON CONFLICT DO REPLACE$', '%1 OR REPLACE%2')
  q = q:gsub('(%$%d+)::(%w+)', 'CAST(%1 AS %2)')
  local r, err = box.execute(q, p)
  if r == nil then
    local m = tostring(err)
    local space = m:match("Space '([^']*)' does not exist")
    if space ~= nil then fail('sbroad: table with name "' .. space:lower() .. '" not found') end
    if m:match('Duplicate key') then
      fail('sbroad: Lua error (IR dispatch): LuaError(ExecutionError("sbroad: invalid transaction: Transaction error occurred: RolledBack(FailedTo(Insert, Some(Space), \\"TupleFound: Duplicate key exists in unique index \\\\\\"pk\\\\\\" in space \\\\\\"cars\\\\\\" with old tuple - [1] and new tuple - [1]\\"))"))')
    end
    fail('sbroad: invalid tarantool: Tarantool module error occurred: Tarantool(BoxError { code: 159, message: Some("' .. m:gsub('"', '\\"') .. '"), error_type: Some("ClientError"), errno: None })')
  end
  if r.rows ~= nil and #r.rows * (#r.metadata + 3) > 45000 then
    fail('sbroad: lua error: Lua error (dispatch IR): LuaError(ExecutionError("{\\"code\\":32,\\"message\\":\\"Error on replicaset 48922332-0a76-4ea1-a44e-1f999a022756: sbroad: invalid tarantool: Tarantool module error occurred: Tarantool(BoxError { code: 267, message: Some(\\\\\\"Reached a limit on max executed vdbe opcodes. Limit: 45000\\\\\\"), error_type')
  end
  if table ~= nil then box.space._pico_table:replace{table} end
  local dropped = q:match('^DROP TABLE.-"([^"]+)"')
  if dropped ~= nil then box.space._pico_table:delete(dropped) end
  return r
end]]})
`

// iprotoStandIn is a Tarantool that answers as Picodata does.
func iprotoStandIn(t *testing.T) cluster {
	s := testserver.Tarantool(t, testserver.Lua(shim))
	return cluster{proto: "iproto", user: s.User, password: s.Password, addresses: s.Addr,
		flags: []string{"-o", "sql=call"}, standIn: true}
}
