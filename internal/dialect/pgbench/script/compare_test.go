package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// debugs makes a script that prints expressions.
func debugs(expressions ...string) string {
	var b strings.Builder
	for _, e := range expressions {
		fmt.Fprintf(&b, "\\set x debug(%s)\n", e)
	}
	return b.String()
}

// TestExpressionsAsPgbench evaluates expressions with pgbench and here, and compares what they print.
func TestExpressionsAsPgbench(t *testing.T) {
	for name, list := range expressionsOf() {
		t.Run(name, func(t *testing.T) {
			(&trial{scripts: []string{debugs(list...)}, options: Options{RandomSeed: 5432, Scale: 7,
				Variables: map[string]string{"foo": "-10.1", "bla": "false", "i": "+3", "n": "null", "t": "t", "f": "of",
					"d": "1.0", "y": "ye", "on": "oN", "hex": "0x1F", "sp": " 12", "inf": "-inf", "nan": "nan"}}}).compare(t)
		})
	}
}

func expressionsOf() map[string][]string {
	return map[string][]string{
		"integers": {"17 / (4|1) + ( 4 + (7 >> 2))", "- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1",
			"10 + (0 + 0 * 0 - 0 / 1)", "64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)", "1 + 2 * 3 - 4",
			"7 % 3 * 2", "-7 / 2", "-7 % 3", "7 % -3", "~5", "~1 + 2", "-~1 * 3", "1 << 62", "1 << 63", "1 << 64", "1 << -1",
			"-1 >> 1", "-1 >> 65", "6 # 3", "6 & 3 | 8", "1 | 2 # 3 & 7", "-9223372036854775808", "9223372036854775807",
			"-(-9223372036854775807)", "-9223372036854775808 % -1", "int(2.5)", "int(3.5)", "int(-2.5)", "int(-0.4)",
			"7.9 % 4", "mod(13 * 7 + 12, 13)", "mod(-19 * 11 - 17, 19)", "+5", "+-+5", "abs(-4)", "abs(-9223372036854775808)",
			"1 + ~2 * 3 | 4", "2 - 3 - 4", "100 / 7 / 2", "1.5 | 2", "7 # 2.6"},
		"doubles": {"sqrt(+1.5 * 2.0) * abs(-0.8E1)", "double(1 + 1) * (-75.0 / :foo)", "pi() * 4.9", "pi()",
			"4.0 * Ln(Exp(1.0))", "1.0/0", "-1.0/0", "0.0/0", "1/3.0", "1e15", "1e14", "123456789012345678.0", "1e-5", "1e-4",
			".5", "5.", "5.e1", "1E+3", "0.1 + 0.2", "1e308 * 10", "1e-300 * 1e-300", "exp(1)", "exp(-1)", "exp(700)",
			"exp(-745)", "exp(710)", "ln(2)", "ln(10)", "ln(0)", "ln(-1)", "sqrt(2)", "sqrt(-1)", "ln(1e-300)", "sqrt(0)",
			"double(5)", "-0.0", "0 * -1.0", "abs(-0.0)", "abs(true)", "abs(1 > 2)", "abs(-1.5)",
			"double(9223372036854775807)", "1.0 + 1",
			"2 - 0.5", "ln(1.0000000001)", "exp(1e-9)", "exp(0.1)", "ln(0.1)", "sqrt(10)", "1.7976931348623157e308"},
		"powers": {"pow(-3,3)", "pow(2.0,10)", "pow(0,0)", "pow(0.0,0.0)", "pow(-2,-3)", "pow(-2.0,-3.0)",
			"power(-5.0,-5.0)", "pow(9223372036854775807, 2)", "pow(10,30)", "pow(2, 0.5)", "pow(-2, 0.5)", "pow(0, -1)",
			"pow(1.0000001, 1e7)", "pow(2, 1024)", "pow(2, -1074)", "pow(10, -3)", "pow(3, 200)", "pow(7, 0.1)",
			"power(1.5, 2.5)", "pow(0.5, 100)", "pow(99, 99)"},
		"comparisons": {"1.0 = 0.0 and 1.0 != 0.0", "0 = 1 Or 1.0 = 1", "1 < 2", "2 <= 2", "3 > 4", "4 >= 4.0",
			"1 <> 1", "1 != 2", "0.1 + 0.2 = 0.3", "1 < 2 AND 2 < 3", "NOT 1 = 2", "NOT (1 = 1) OR true",
			"true and not false or false", "NOT (0 > 1) AND (1 <= 1) AND NOT (0 >= 1) AND (0 < 1) AND " +
				"NOT (false and true) AND (false OR TRUE) AND (NOT :f) AND (NOT FALSE) AND NOT (NOT TRUE)",
			"0.0/0 = 0.0/0", "1 + 1 = 2 AND 3 * 2 > 5 | 1", "(1 < 2) IS TRUE"},
		"conditions": {"case when 0 < 1 then 32 else 0 end", "case when true then 33 else 0 end",
			"case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end", "CASE WHEN NOT FALSE THEN 3 * 12.3333334 END",
			"case when false then 0 when 1-1 <> 0 then 1 else 38 end", "case when false then 1 end",
			"CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :n THEN NULL ELSE TRUE END",
			"case when 0 = 0 then -1 else (1 / 0) end", "case when 0 = 0 or (1 / 0) < 0 then -1 else (1 / 0) end",
			"case when 0 > 0 and (1 / 0) < 0 then (1 / 0) else 1 end", "case when 0.0 then 1 when null then 2 else 3 end"},
		"null": {"NULL + NULL * exp(NULL)", "null", "NULL IS NULL", "NULL IS NOT NULL", "1 ISNULL", "1 NOTNULL",
			"NULL ISNULL AND NOT NULL IS TRUE", "NULL AND true", "NULL and (1/0 = 1)", "true and null", "false and null",
			"true or null", "false or null", "null or true", "not null", "null is false", "true is true", "true is not false",
			"1 is true", "null = null", "greatest(1, null)", "least(null, 2.0)", "random(null, 5)", "hash(null)",
			"debug(null) is null", "5 IS NULL IS NULL", "1 < 2 IS NULL", "not 1 is null"},
		"variables": {":foo", ":foo * 2", ":bla", ":i", ":i + 1", ":n", ":t", ":f", ":d", ":d + 1", ":y", ":on", ":hex",
			":sp", ":inf", ":nan", ":scale", ":client_id", ":random_seed", ":default_seed", ":n IS NULL AND NOT :f AND :t"},
		"extremes": {"greatest(5, 4, 3, 2)", "11 + least(-5, -4, -3, -2)", "greatest(4, 2, -1.17) * 4.0",
			"least(-5.18, .0E0, 1.0/0) * -3.3", "greatest(1)", "least(2.5)", "greatest(0.0/0, 1)", "greatest(1, 0.0/0)",
			"least(0.0/0, 1)", "least(1, 0.0/0)", "greatest(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)"},
		"hashes": {"hash(10, 5432)", "hash_murmur2(10, 5432)", "hash_fnv1a(10, 5432)", "hash(10)",
			"hash(10) = hash(10, :default_seed)", "hash_fnv1a(-1)", "hash(2.5)", "hash_murmur2(-9223372036854775808, -1)",
			"hash(0, 0)", "HASH(7)"},
		"permutations": {"permute(0, 2)", "permute(1, 3)", "permute(5, 10)", "permute(123456, 1000000)",
			"permute(-5, 100)", "permute(7, 1000, 42)", "permute(0, 1)", "permute(3, 16, 1)",
			"permute(9223372036854775796, 9223372036854775797, 5432)", "permute(2.6, 10.4, 0.5)"},
		"random": {"random(10, 19)", "random_exponential(100, 199, 10.0)", "random_gaussian(1000, 1999, 10.0)",
			"random_zipfian(1, 9, 1.3)", "random(1, 1)", "random(5, 5)", "random(-10, 10)", "random(0, 9223372036854775805)",
			"random_exponential(1, 1, 3)", "random_gaussian(-5, -5, 2.0)", "random_zipfian(5, 5, 1.001)",
			"random_zipfian(1, 1000000, 1.001)", "random_zipfian(1, 1000, 1000)", "random_gaussian(1, 1000000, 2)",
			"random_exponential(1, 9223372036854775806, 0.001)", "random(1.4, 2.6)"},
		"functions of functions": {"random(1, 10) + debug(3)", "hash(random(1, 1000))", "permute(random(0, 99), 100)"},
	}
}

// TestStreamsAsPgbench compares long series of random numbers, which show differences in single bits of the functions
// they are computed with.
func TestStreamsAsPgbench(t *testing.T) {
	script := debugs("random(1, 1000000)", "random_exponential(1, 1000000000000, 3.5)",
		"random_gaussian(1, 1000000000000, 2.7)", "random_zipfian(1, 100000000, 1.07)",
		"ln(random(1, 1000000000)) * 1000", "exp(random(-300000, 300000) / 1000.0)",
		"pow(random(1, 100000) / 100.0, random(-100, 100) / 10.0)", "sqrt(random(1, 100000))",
		"permute(random(0, 99999), 100000)", "random(1, 100000) / 7.0")
	(&trial{scripts: []string{script}, options: Options{RandomSeed: 20261128, Clients: 1}, perClient: 2000}).compare(t)
}

func TestClientsAsPgbench(t *testing.T) {
	(&trial{scripts: []string{debugs(":client_id * 1000000 + random(0, 999999)", ":default_seed", "hash(:client_id)")},
		options: Options{RandomSeed: 42, Clients: 5}, perClient: 3}).compare(t)
}

// TestChoiceAsPgbench compares the choice among scripts for one client a thread.
func TestChoiceAsPgbench(t *testing.T) {
	scripts := []string{"3\n" + debugs("0"), "0\n" + debugs("1"), "5\n" + debugs("2"), debugs("3")}
	for name, o := range map[string]Options{
		"one": {RandomSeed: 9, Clients: 1}, "four": {RandomSeed: 10, Clients: 4, Threads: 4},
		"default seed given": {RandomSeed: 10, Clients: 2, Threads: 2, Variables: map[string]string{"default_seed": "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &trial{scripts: scripts, options: o, perClient: 50, arguments: []string{"-l"}}
			s := servers.Postgres(t)
			for _, bench := range realPgbenches(t) {
				want, got := tr.real(t, bench, s), tr.ours(t, bench, s)
				if slices.Sort(want.choices); !slices.Equal(got.choices, want.choices) {
					t.Errorf("pgbench %d: got %v, want %v", bench.version, got.choices, want.choices)
				}
			}
		})
	}
}

// TestScriptsAsPgbench runs scripts with SQL by pgbench and here.
func TestScriptsAsPgbench(t *testing.T) {
	for _, c := range scriptsOf() {
		modes := c.modes
		if modes == nil {
			modes = []string{Simple, Extended, Prepared}
		}
		for _, mode := range modes {
			t.Run(c.name+" "+mode, func(t *testing.T) {
				tr := c.trial
				tr.options.Mode = mode
				tr.compare(t)
			})
		}
	}
}

type scriptCase struct {
	name  string
	modes []string
	trial
}

func scriptsOf() []scriptCase {
	one := func(text string) trial { return trial{scripts: []string{text}} }
	both := trial{options: Options{MaxTries: 3, Verbose: true, Variables: map[string]string{"n": "0"}}, perClient: 2}
	tries := func(text string) trial { both.scripts = []string{text}; return both }
	simple, extended := []string{Simple}, []string{Extended, Prepared}
	return []scriptCase{
		{name: "gset", trial: one("SELECT \\gset\nSELECT 0 AS i0 \\gset\n\\set i debug(:i0)\nSELECT 1 AS i1, 2 AS i2 \\gset\n" +
			"\\set i debug(:i1)\n\\set i debug(:i2)\nSELECT 3 AS i3 \\gset x_\n\\set i debug(:x_i3)\n" +
			"SELECT 0 AS i4, 4 AS i4 \\gset\n\\set i debug(:i4)\n")},
		{name: "gset of a compound", modes: simple,
			trial: one("\\; \\; SELECT 0 AS i5 \\; SELECT 5 AS i5 \\; \\; \\gset\n\\set i debug(:i5)\n")},
		{name: "gset of text", trial: one("SELECT 'tru' AS a, 'x''y;z' AS b, null AS c, 1.50 AS d, ' 7' AS e, '' AS f \\gset\n" +
			"\\set i debug(:a)\n\\set i debug(:d)\n\\set i debug(:e)\n\\set i debug(:c)\n")},
		{name: "gset of text that isn't a number", trial: one("SELECT 'x''y;z' AS b \\gset\n\\set i debug(:b)\n")},
		{name: "gset of two rows", trial: one("SELECT 5432 AS fail UNION SELECT 5433 ORDER BY 1 \\gset")},
		{name: "gset of no row", trial: one("SELECT 1 WHERE FALSE \\gset")},
		{name: "gset of no result", trial: one("DROP TABLE IF EXISTS no_such_table \\gset")},
		{name: "gset of no result in a compound", modes: simple, trial: one("SELECT 1 AS a\\; SET x.y = 1 \\gset")},
		{name: "gset with a bad name", trial: one("SELECT 1 \\gset")},
		{name: "gset with another bad name", trial: one(`SELECT 1 AS "bad name!" \gset`)},
		{name: "gset with a bad prefix", trial: one(`SELECT 1 AS a \gset 1`)},
		{name: "aset", modes: simple, trial: one("\\; SELECT 6 AS i6 \\; SELECT 7 AS i7 \\; \\aset\n" +
			"SELECT 8 AS i6 UNION SELECT 9 ORDER BY 1 DESC \\aset\n\\set i debug(:i6)\n\\set i debug(:i7)\n")},
		{name: "aset of an empty result", modes: simple,
			trial: one("\\; SELECT 5432 AS i8 WHERE FALSE \\; \\aset\n\\set i debug(:i8)\n")},
		{name: "aset with a bad name", trial: one(`SELECT 1 AS "bad name!" \aset`)},
		{name: "substitution", modes: simple, trial: trial{options: Options{
			Variables: map[string]string{"s": "a'b", "v": ":w", "w": "5", "é": "7"}}, scripts: []string{"\\set x 1.5\n\\set n NULL\n\\set b true\n" +
			"select $$:x :n :b :s :v :é :nosuch ::x :::x 12:30 :1x$$ as got, current_setting('server_version_num') as v \\gset\n" +
			"select length($$:got$$) as l, hashtext($$:got$$) as h \\gset\n\\set l debug(:l)\n\\set h debug(:h)\n"}}},
		{name: "parameters", modes: extended, trial: trial{options: Options{Variables: map[string]string{"s": "a'b"}},
			scripts: []string{"\\set x 1.5\n\\set n NULL\n\\set b true\nselect hashtext(:x::text || :n || :b || :s || " +
				"coalesce(:nosuch, 'none')) as h \\gset\n\\set h debug(:h)\n"}}},
		{name: "statements", modes: simple, trial: one(scanned)},
		{name: "conditions", trial: one(conditional)},
		{name: "retry", trial: tries("\\set n debug(:n + 1)\n\\set r debug(random(1, 1000))\nselect 5 as m \\gset\n" +
			"do $$ begin raise exception 'again' using errcode='40001'; end $$;\n")},
		{name: "retry in a block", trial: tries("\\set n debug(:n + 1)\n\\set r debug(random(1, 1000))\nBEGIN;\n" +
			"do $$ begin if pg_backend_pid() % 1 = 0 then raise exception 'again' using errcode='40P01'; end if; end $$;\nEND;\n")},
		{name: "retry that succeeds", trial: tries("\\set n debug(:n + 1)\n\\if :n < 2\nBEGIN;\n" +
			"do $$ begin raise exception 'again' using errcode='40001'; end $$;\nEND;\n\\endif\nselect 1;\n")},
		{name: "failure in a block", trial: one("BEGIN;\nselect 1/0;\nEND;\n")},
		{name: "failure", modes: []string{Simple, Extended}, trial: one("select 1;\n\\set x debug(1)\nselect nosuch;\n")},
		{name: "failure in a compound", modes: simple, trial: one("select 1\\; select 2\\; select nosuch;\n")},
		{name: "unfinished block", trial: one("BEGIN;SELECT 1;")},
		{name: "sleep", trial: one("\\set zero 0\n\\set one 1.0\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep :zero\n" +
			"\\sleep 1ms\n\\sleep -5us\n\\set x debug(1)\n")},
		{name: "shell", trial: one("\\set one 1.0\n\\setshell another_one\\\n  echo \\\n    :one\n\\set n debug(:another_one)\n" +
			"\\shell true shell-echo-output ::x\n\\setshell v echo 12  x\n\\set n debug(:v)\n")},
		{name: "pipeline", modes: extended, trial: one("\\startpipeline\n" + strings.Repeat("select 1;\n", 10) +
			"\\endpipeline\n\\set x debug(2)\n")},
		{name: "pipeline with conditions", modes: extended, trial: trial{perClient: 20, scripts: []string{
			"\\startpipeline\n\\set x random(1, 3)\n\\if :x = 1\ncreate temp table if not exists t(v int);\n\\elif :x = 2\n" +
				"select 2 + :x::int;\n\\endif\nselect 3 + :x::int;\n\\set x 5\nselect :x::int;\n\\endpipeline\n\\set x debug(:x)\n"}}},
		{name: "pipeline that fails", modes: extended,
			trial: one("\\startpipeline\nselect 1;\nselect 1/:client_id::int;\nselect 2;\n\\endpipeline\n")},
		{name: "pipeline that is retried", modes: extended, trial: tries("\\set n debug(:n + 1)\n\\startpipeline\nBEGIN;\n" +
			"do $$ begin raise exception 'again' using errcode='40001'; end $$;\nEND;\n\\endpipeline\n")},
		{name: "pipeline with synchronization", modes: extended, trial: trial{since: 17, perClient: 3,
			scripts: []string{"\\startpipeline\n\\syncpipeline\nselect 1;\nselect 2;\n\\syncpipeline\n\\syncpipeline\n" +
				"select 3;\n\\endpipeline\n\\set x debug(1)\n"}}},
		{name: "pipeline with synchronization that fails", modes: extended, trial: trial{since: 17,
			scripts: []string{"\\startpipeline\nselect 1;\n\\syncpipeline\nselect 1/:client_id::int;\n\\syncpipeline\n" +
				"select 3;\n\\endpipeline\n\\set x debug(1)\n"}}},
		{name: "synchronization without pipeline", modes: extended, trial: trial{since: 17,
			scripts: []string{"\\syncpipeline\n"}}},
		{name: "empty pipeline", modes: extended, trial: one("\\startpipeline\n\\endpipeline\n\\set x debug(1)\n")},
		{name: "pipeline begun twice", modes: extended, trial: one("\\startpipeline\n\\startpipeline\n")},
		{name: "pipeline not begun", modes: extended, trial: one("\\endpipeline\n")},
		{name: "pipeline not ended", modes: extended, trial: one("\\startpipeline\nselect 1;\n")},
		{name: "gset in a pipeline", modes: extended, trial: one("\\startpipeline\nselect 1 \\gset f\n\\endpipeline\n")},
		{name: "aset in a pipeline", modes: extended, trial: one("\\startpipeline\nselect 1 \\aset f\n\\endpipeline\n")},
		{name: "simple pipeline", modes: simple, trial: one("\\startpipeline\nselect 1;\n\\endpipeline\n")},
	}
}

// scanned shows how text is split into statements. What a statement was is seen from its hash.
const scanned = `-- a comment; not a statement
/* another; /* nested; */ */ select $x$ a;b 'c' $y$ $x$ as a, 'it''s;' as b, E'a\'b;' as c, ";x" as d
  from (select 1 as ";x") as "q"";" where ';' <> '' -- comment ; with semicolon
  and 'a'
  'b;' = E'a'
  'b\x3b' \gset
\set x debug(case when :d = 1 then 1 else 2 end)
select (select 1 as v
) as one \; select 2 as two /* x -- y */ \gset two_
\set x debug(:two_two)
create function pg_temp.f() returns int language sql begin atomic select 1; select case when true then 7 end; end;
select pg_temp.f() as f \gset
\set x debug(:f)
select :{?nosuch} as a, 1::int as b, 'U' || U&'\0061;' as c, b'101' as d, x'1F;' \gset
select 3 as three;select 4 as four \gset
\set x debug(:four)
select length('a -- b
c') as l \gset
\set x debug(:l)
select 5 as five -- no semicolon
\gset
\set x debug(:five)
select 1 as a1$b, 2 as "é" \gset n_
`

const conditional = `\set nope 0
\if 1 > 0
\set id debug(65)
\elif 0
\set nope 1
\else
\set nope 1
\endif
\if 1 < 0
\set nope 1
\elif 1 > 0
\set ie debug(74)
\else
\set nope 1
\endif
\if 1 < 0
\set nope 1
\elif 1 < 0
\set nope 1
\else
\set if debug(83)
\if null
\set nope 1
\elif 1/1 = 2
\set nope 1
\else
\if 0.0
\set nope 2
\endif
\if 5
select 1 as v \gset
\set v debug(:v)
\endif
\endif
\endif
\if 1 = 1
\set ig debug(86)
\elif 1/0
\set nope 1
\endif
\if false
\if 1/0
\set nope 1
\elif 1/0
\else
\set nope 1
\endif
\set nope 1
\elif 1 <> 0
\set ih debug(93)
\endif
\set nope debug(:nope)
`
