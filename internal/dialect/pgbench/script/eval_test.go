package script

import "testing"

// evaluate returns what the function debug prints for an expression.
func evaluate(t *testing.T, text string, variables map[string]string) string {
	t.Helper()
	l := &line{text: text}
	names := newTable()
	n, err := l.expression(names)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{names: names.names, vars: make([]variable, len(names.names)), random: newPRNG(clientSeed())}
	for i, name := range names.names {
		if text, ok := variables[name]; ok {
			m.vars[i].setText([]byte(text))
		}
	}
	v, ok := m.eval(n)
	if !ok {
		return m.problem
	}
	return string(v.appendDebug(nil))
}

// clientSeed returns the seed of client 0 with --random-seed=5432.
func clientSeed() uint64 {
	base := newPRNG(5432)
	return base.next()
}

// TestExpressions checks values that PostgreSQL's own tests of pgbench expect (src/bin/pgbench/t of version 16). The
// comparison with real programs is TestExpressionsAsPgbench.
func TestExpressions(t *testing.T) {
	variables := map[string]string{"foo": "-10.1", "f": "of", "t": "t", "n": "null", "d1": "false", "n0": "null",
		"zy": "0"}
	for text, want := range map[string]string{
		"random(10, 19)":               "int 17",
		"abs(-4)":                      "int 4",
		"greatest(5, 4, 3, 2)":         "int 5",
		"11 + least(-5, -4, -3, -2)":   "int 6",
		"int(7.3)":                     "int 7",
		"17 / (4|1) + ( 4 + (7 >> 2))": "int 8",
		"- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1":                  "int 9",
		"10 + (0 + 0 * 0 - 0 / 1)":                                     "int 10",
		"64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)": "int 12",
		"double(1 + 1) * (-75.0 / :foo)":                               "double 14.8514851485149",
		"4.0 * greatest(4, 2, -1.17) * Ln(Exp(1.0))":                   "double 16",
		"pow(-3,3)":                          "double -27",
		"pow(2.0,10)":                        "double 1024",
		"pow(0,0)":                           "double 1",
		"pow(-2,-3)":                         "double -0.125",
		"power(-5.0,-5.0)":                   "double -0.00032",
		"pow(9223372036854775807, 2)":        "double 8.50705917302346e+37",
		"pow(10,30)":                         "double 1e+30",
		"1.0 = 0.0 and 1.0 != 0.0":           "boolean false",
		"0 = 1 Or 1.0 = 1":                   "boolean true",
		"case when 0 < 1 then 32 else 0 end": "int 32",
		"case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end": "double 34",
		"CASE WHEN NOT FALSE THEN 3 * 12.3333334 END":               "double 37.0000002",
		"10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)":        "int 39",
		"NULL + NULL * exp(NULL)":                                   "null",
		"NOT (:n0 IS NOT NULL OR :d1 IS NULL)":                      "boolean true",
		":n0 IS NULL AND :d1 IS NOT NULL AND :d1 NOTNULL":           "boolean true",
		":n0 ISNULL AND NOT :n0 IS TRUE AND :n0 IS NOT FALSE":       "boolean true",
		"CASE WHEN :n IS NULL THEN 46 ELSE NULL END":                "int 46",
		":n IS NULL AND NOT :f AND :t":                              "boolean true",
		"hash(10, 5432)":                                            "int -5817877081768721676",
		"hash_fnv1a(10, 5432)":                                      "int -7793829335365542153",
		"case when :zy = 0 or (1 / :zy) < 0 then -1 else 1 end":     "int -1",
		"-9223372036854775808":                                      "int -9223372036854775808",
		"-(-9223372036854775808 + 1)":                               "int 9223372036854775807",
		"permute(0, 2, 5431)":                                       "int 0",
		"1 / :zy":                                                   "division by zero",
		":nosuch":                                                   `undefined variable "nosuch"`,
		"least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)":           "too many function arguments, maximum is 16",
		"int(1E32)": "double to int overflow for 100000000000000005366162204393472.000000",
	} {
		t.Run(text, func(t *testing.T) {
			if got := evaluate(t, text, variables); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestPreciseFunctions checks values from tables of more digits (NIST Digital Library of Mathematical Functions, and
// Abramowitz and Stegun), rounded to the nearest double by the compiler.
func TestPreciseFunctions(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"exp(1)", exp(1), 2.718281828459045235360287471352662497757},
		{"exp(-1)", exp(-1), 0.367879441171442321595523770161460867446},
		{"exp(10)", exp(10), 22026.46579480671651695790064528424436635},
		{"ln(2)", ln(2), 0.693147180559945309417232121458176568076},
		{"ln(10)", ln(10), 2.302585092994045684017991454684364207601},
		{"sin(1)", sin(1), 0.841470984807896506652502321630298999623},
		{"sin(2)", sin(2), 0.909297426825681695396019865911744842703},
		{"sin(3)", sin(3), 0.141120008059867222100744802808110279847},
		{"sin(5)", sin(5), -0.958924274663138468893154406155993973352},
		{"2 to the power 0.5", pow(2, 0.5), 1.414213562373095048801688724209698078570},
		{"10 to the power −3", pow(10, -3), 0.001},
		{"−2 to the power 3", pow(-2, 3), -8},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %x, want %x", c.got, c.want)
			}
		})
	}
}
