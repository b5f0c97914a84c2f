package script

import (
	"errors"
	"strings"
	"testing"
)

// TestFaultsAsPgbench compares the messages for faulty scripts, those that are found before the load with the place and
// the mark below it. fragment is what PostgreSQL's own tests look for, or what is special about the case.
func TestFaultsAsPgbench(t *testing.T) {
	variables := map[string]string{"foo": "bla", "null": "null", "true": "true", "one": "1", "zero": "0.0",
		"badtrue": "trueXXX", "maxint": "9223372036854775807", "minint": "-9223372036854775808",
		"big": "99999999999999999999", "sign": "-", "tiny": "1e-400", "huge": "1e400", "hex": "0x1g", "n": "12x"}
	for _, c := range faults() {
		t.Run(c.name, func(t *testing.T) {
			tr := &trial{scripts: []string{c.script}, options: Options{Mode: Prepared, Variables: variables}}
			tr.compare(t)
			got := tr.ours(t, realPgbenches(t)[0], servers.Postgres(t))
			if said := strings.Join(got.lines, "\n") + got.fault; !strings.Contains(said, c.fragment) {
				t.Errorf("got %q, want %q in it", said, c.fragment)
			}
		})
	}
}

type fault struct{ name, fragment, script string }

func faults() []fault {
	return append(append(commandFaults(), expressionFaults()...), conditionFaults()...)
}

func commandFaults() []fault {
	return []fault{
		{"too many variables", "statement has too many arguments (maximum is 255)",
			"\\set i 0\nSELECT LEAST(" + strings.TrimSuffix(strings.Repeat(":i, ", 256), ", ") + ")"},
		{"shell bad command", "(shell) of script 0; execution of meta-command failed", `\shell no-such-command 2>&-`},
		{"shell undefined variable", `undefined variable ":nosuchvariable"`, "\\shell echo ::foo :nosuchvariable\n"},
		{"shell missing command", "missing command in command", `\shell`},
		{"shell too many words", `too many arguments in command "shell"`, `\shell echo ` + strings.Repeat("arg ", 255)},
		{"shell too long", "shell command is too long", `\shell echo ` + strings.Repeat("arg ", 100)},
		{"setshell not an integer", "command must return an integer", `\setshell i echo -n one`},
		{"setshell missing argument", "missing argument in", `\setshell var`},
		{"setshell no such command", "could not read result", `\setshell var no-such-command 2>&-`},
		{"setshell bad name", "invalid variable name", `\setshell 1 echo 1`},
		{"sleep undefined variable", "sleep: undefined variable", `\sleep :nosuchvariable`},
		{"sleep too many words", "too many arguments", `\sleep too many args`},
		{"sleep without argument", `\sleep`, `\sleep`},
		{"sleep unknown unit", "unrecognized time unit", `\sleep 1 week`},
		{"sleep unknown unit at once", "unrecognized time unit", `\sleep 1week`},
		{"sleep not a number", "invalid sleep time", `\sleep abc`},
		{"sleep number and more", "invalid sleep time", `\sleep 1ms s`},
		{"sleep of text", "invalid sleep time", `\sleep :foo s`},
		{"sleep sign only", "invalid", `\sleep -x`},
		{"sleep over lines", "unrecognized time unit", "select 1;\n\\sleep \\\n  1 \\\n weeks\nselect 2;"},
		{"unknown command", `invalid command in command "nosuchcommand"`, `\nosuchcommand`},
		{"syncpipeline of version 17", `invalid command in command "syncpipeline"`, "select 1;\n\\syncpipeline"},
		{"empty script", "empty command list for script", ""},
		{"only comments", "empty command list for script", "-- nothing\n  -- at all"},
		{"gset alone", "gset must follow an SQL command", `\gset`},
		{"gset after a command", "gset must follow an SQL command", "\\set i +1\n\\gset"},
		{"gset too many words", "too many arguments", `SELECT 1 \gset a b`},
		{"gset twice", "gset must follow an SQL command", "SELECT 1 AS i \\gset\n\\gset"},
		{"aset twice", "gset must follow an SQL command", "SELECT 1 AS i \\gset\n\\aset"},
		{"else with argument", `unexpected argument in command "else"`, "\\if 0\n\\else BAD\n\\endif\n"},
		{"endif with argument", `unexpected argument in command "endif"`, "\\if 0\n\\endif BAD\n"},
		{"pipeline with argument", `unexpected argument in command "startpipeline"`, "\\startpipeline x"},
		{"capitals", `missing argument in command "SET"`, "\\SET"},
		{"capitals of an expression", `syntax error in command "If"`, "\\If"},
	}
}

func conditionFaults() []fault {
	return []fault{
		{"if without endif", `\if without matching \endif`, `\if 1`},
		{"elif without if", `\elif without matching \if`, `\elif 1`},
		{"else without if", `\else without matching \if`, "select 1;\n\\else"},
		{"endif without if", `\endif without matching \if`, `\endif`},
		{"elif after else", `\elif after \else`, "\\if 1\n\\else\n\\elif 0\n\\endif"},
		{"else after else", `\else after \else`, "\\if 1\n\\else\n\\else\n\\endif"},
		{"if without expression", `syntax error in command "if"`, "\\if\n\\endif\n"},
		{"elif syntax", `syntax error in command "elif"`, "\\if 0\n\\elif +\n\\endif\n"},
		{"if of an undefined variable", "(if) of script 0; evaluation of meta-command failed", "\\if :nosuch\n\\endif"},
		{"elif of an undefined variable", "command 1 (elif)", "\\if 0\n\\elif :nosuch\n\\endif"},
	}
}

func expressionFaults() []fault {
	var list []fault
	for _, c := range [][3]string{
		{"unfinished", `syntax error in command "set"`, `\set i 1 +`},
		{"unfinished with newline", "^ error found here", "\\set i 1 +\nselect 1;"},
		{"over lines", "^ error found here", "\\set i \\\n 1 + \\\n ) 4\n"},
		{"no such function", "unexpected function name (noSuchFunction)", `\set i noSuchFunction()`},
		{"bad name", "invalid variable name", `\set . 1`},
		{"name with digit", "invalid variable name", `\set 1a 1`},
		{"division by zero", "division by zero", `\set i 1/0`},
		{"remainder of zero", "division by zero", `\set i 1 % 0`},
		{"undefined", `undefined variable "nosuchvariable"`, `\set i :nosuchvariable`},
		{"undefined with digit", `undefined variable "1a"`, `\set i :1a`},
		{"unexpected character", "unexpected character (;)", `\set i ;`},
		{"unexpected character later", "unexpected character (!)", `\set i 1 + noSuch(;) + 2 !`},
		{"exclamation mark", "unexpected character (!)", `\set i 1 ! 2`},
		{"colon alone", "unexpected character (:)", `\set i : 1`},
		{"too many function arguments", "too many function arguments, maximum is 16",
			`\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)`},
		{"empty range", "empty range given to random", `\set i random(5,3)`},
		{"range too large", "random range is too large", `\set i random(:minint, :maxint)`},
		{"range too large by one", "random range is too large", `\set i random(0, :maxint)`},
		{"gaussian", "gaussian parameter must be at least 2", `\set i random_gaussian(0, 10, 1.0)`},
		{"exponential", "exponential parameter must be greater", `\set i random_exponential(0, 10, 0.0)`},
		{"zipfian small", "zipfian parameter must be in range [1.001, 1000]", `\set i random_zipfian(0, 10, 1)`},
		{"zipfian large", "zipfian parameter must be in range [1.001, 1000]", `\set i random_zipfian(0, 10, 1000000)`},
		{"malformed", `malformed variable "foo" value: "bla"`, `\set i :foo + 1`},
		{"malformed number", `malformed variable "n" value: "12x"`, `\set i :n`},
		{"malformed hexadecimal", `malformed variable "hex"`, `\set i :hex`},
		{"underflow", `malformed variable "tiny"`, `\set i :tiny`},
		{"overflow of a double variable", `malformed variable "huge"`, `\set i :huge`},
		{"bad boolean", `malformed variable "badtrue" value: "trueXXX"`, `\set b :badtrue or true`},
		{"empty variable", "evaluation of meta-command failed", "select '' as empty \\gset\n\\set i :empty"},
		{"variable out of range", "is out of range for type bigint", `\set i :big`},
		{"sign only", "invalid input syntax for type bigint", `\set i :sign`},
		{"no expression", `syntax error in command "set"`, `\set i`},
		{"missing argument", "missing argument", `\set`},
		{"not a boolean", "cannot coerce double to boolean", `\set b NOT 0.0`},
		{"not an integer", "cannot coerce boolean to int", `\set i TRUE + 2`},
		{"not a double", "cannot coerce boolean to double", `\set d ln(TRUE)`},
		{"integer as boolean", "cannot coerce int to boolean", `\set b 1 and true`},
		{"boolean and double", "cannot coerce boolean to double", `\set b 1.0 = true`},
		{"extreme of boolean", "cannot coerce boolean to int", `\set b greatest(1, true)`},
		{"case", `syntax error in command "set"`, `\set i CASE TRUE THEN 1 ELSE 0 END`},
		{"case without end", `syntax error in command "set"`, `\set i CASE WHEN TRUE THEN 1 ELSE 0`},
		{"random of booleans", "cannot coerce boolean to int", `\set b random(FALSE, TRUE)`},
		{"number of arguments", "unexpected number of arguments (ln)", `\set d ln(1.0, 2.0))`},
		{"at least one argument", "at least one argument expected (greatest)", `\set i greatest())`},
		{"least without arguments", "at least one argument expected (least)", "\\set i least()\n"},
		{"hash without arguments", "unexpected number of arguments (hash)", "\\set i hash()\n"},
		{"hash of three", "unexpected number of arguments (hash)", "\\set i hash(1,2,3)\n"},
		{"permute of one", "unexpected number of arguments (permute)", "\\set i permute(1)\n"},
		{"permute of four", "unexpected number of arguments (permute)", "\\set i permute(1, 2, 3, 4)\n"},
		{"power of one", "unexpected number of arguments (power)", "\\set i Power(1)\n"},
		{"pi of one", "unexpected number of arguments (pi)", "\\set i pi(1)\n"},
		{"permute size", "permute size parameter must be greater than zero", `\set i permute(0, 0)`},
		{"double to int", "double to int overflow for 100", `\set i int(1E32)`},
		{"infinity to int", "double to int overflow for Infinity", `\set i int(1/0.0)`},
		{"NaN to int", "double to int overflow for NaN", `\set i int(0/0.0)`},
		{"add overflow", "bigint add out of range", `\set i (1<<62) + (1<<62)`},
		{"sub overflow", "bigint sub out of range", `\set i 0 - (1<<62) - (1<<62) - (1<<62)`},
		{"mul overflow", "bigint mul out of range", `\set i 2 * (1<<62)`},
		{"mul overflow of the least", "bigint mul out of range", `\set i -1 * :minint`},
		{"div overflow", "bigint div out of range", `\set i :minint / -1`},
		{"negated least", "bigint sub out of range", `\set i -:minint`},
		{"integer constant", "bigint constant overflow (100000000000000000000)", "\\set i 100000000000000000000\n"},
		{"double constant", "double constant overflow (1.0E309)", "\\set d 1.0E309\n"},
		{"double constant with point", "double constant overflow (.1E310)", "\\set d .1E310\n"},
		{"double constant underflow", "double constant overflow (1e-400)", "\\set d 1e-400\n"},
		{"double constant denormal", "double constant overflow", "\\set d 1e-310\n"},
		{"biggest without sign", "syntax error", "\\set d 9223372036854775808\n"},
		{"biggest subtracted", "syntax error", "\\set d 1 - 9223372036854775808\n"},
		{"comparison of comparison", "syntax error", "\\set d 1 < 2 < 3\n"},
		{"comparison of comparison later", "syntax error", "\\set d 1 + 1 = 2 and 1 = 2 = 3\n"},
		{"two operands", "syntax error", "\\set d 1 2\n"},
		{"function without parentheses", "syntax error", "\\set d pi\n"},
		{"unclosed", "syntax error", "\\set d (1 + 2\n"},
		{"empty argument", "syntax error", "\\set d least(1,,2)\n"},
		{"empty last argument", "syntax error", "\\set d least(1,)\n"},
		{"empty first argument", "unexpected number of arguments (abs)", "\\set d abs(,1,2)\n"},
		{"is of a number", "syntax error", "\\set d 1 is 2\n"},
		{"keyword as function", "syntax error", "\\set d end(1)\n"},
		{"quotes", `unexpected character (')`, "\\set d 'x'\n"},
		{"not ASCII", "unexpected function name (é)", "\\set d é(1)\n"},
		{"indented", "error found here", "select 1;\n   \\set d 1 + + \r\nselect 2;"},
		{"after a statement", "error found here", "select 1 \\set d 1 +\nselect 2;"},
	} {
		list = append(list, fault{"set " + c[0], c[1], c[2]})
	}
	return list
}

func TestNestingIsLimited(t *testing.T) {
	for name, script := range map[string]string{"parentheses": "\\set d " + strings.Repeat("(", 1_000_000),
		"signs": "\\set d " + strings.Repeat("-", 1_000_000), "cases": "\\set d " + strings.Repeat("case when ", 100_000)} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("s", script, Options{})
			if err == nil || !strings.Contains(err.Error(), "memory exhausted") {
				t.Errorf("got %.100v, want that memory is exhausted", err)
			}
		})
	}
}

// TestPlaceOfFaults checks the line and the column that aren't in pgbench's text.
func TestPlaceOfFaults(t *testing.T) {
	for _, c := range []struct {
		script       string
		line, column int
	}{
		{"select 1;\n  \\set i 1 + ;\n", 2, 14},
		{"\\set i \\\n 1 + \\\n ) 4\n", 3, 2},
		{"select 1;\n\\nosuch", 2, 0},
		{"select 1;\n\\if 1\nselect 2;\n", 3, 0},
		{"select 1;\n\\endif\nselect 2;\n", 2, 0},
	} {
		_, err := Parse("s", c.script, Options{})
		fault := (*Error)(nil)
		if !errors.As(err, &fault) {
			t.Errorf("%q: got %v, want an error", c.script, err)
			continue
		}
		if fault.Line != c.line || fault.Column != c.column {
			t.Errorf("%q: fault at %d:%d, want %d:%d", c.script, fault.Line, fault.Column, c.line, c.column)
		}
	}
}
