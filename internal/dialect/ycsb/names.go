package ycsb

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/dialect/ycsb/properties"
)

// Property is a known property.
type Property struct {
	Name    string
	Default string
	About   string // one line
}

// propertyLines has a line for each property: its name, default and meaning, separated by tabs. A line with the name of
// a database, in brackets, begins its section.
//
//go:embed properties.txt
var propertyLines string

// propertiesOf returns the properties in a section of propertyLines.
func propertiesOf(section string) (all []Property) {
	_, text, _ := strings.Cut(propertyLines, "["+section+"]\n")
	text, _, _ = strings.Cut(text, "\n[")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		name, rest, _ := strings.Cut(line, "\t")
		standard, about, _ := strings.Cut(rest, "\t")
		all = append(all, Property{name, standard, about})
	}
	return all
}

// CoreProperties returns the properties that don't belong to a database.
func CoreProperties() []Property { return propertiesOf("core") }

// unknown returns warnings about properties that have no effect with this database. It returns an error for one that
// concerns connections.
func unknown(set *properties.Set, d *Database) (warnings []string, err error) {
	theirs, err := translate(set, d)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(theirs))
	for _, p := range CoreProperties() {
		names = append(names, p.Name)
	}
	for _, p := range d.Properties {
		names = append(names, p.Name)
	}
	for _, key := range set.Keys() {
		switch {
		case slices.Contains(names, key):
		case strings.HasPrefix(key, ";"):
			warnings = append(warnings,
				fmt.Sprintf("%s: ; doesn't begin a comment in property files: the line is ignored; begin it with #",
					set.Where(key)))
		case foreign(key, d):
			if err := elsewhereGiven(set, key, d); err != nil {
				return nil, err
			}
		default:
			if err := connecting(set, key, d, names); err != nil {
				return nil, err
			}
			hint := ""
			if best, ok := nearest(key, names); ok {
				hint = fmt.Sprintf("; did you mean %s?", best)
			}
			warnings = append(warnings, fmt.Sprintf("%s: unknown property %s is ignored%s", set.Where(key), key, hint))
		}
	}
	return warnings, nil
}

// foreign reports whether a property belongs to another database. Files may be shared by several databases, unless the
// property's name doesn't say whose it is, such as hosts.
func foreign(key string, d *Database) bool {
	space, _, dotted := strings.Cut(key, ".")
	if !dotted || slices.Contains([]string{"db", "jdbc", "url", "timeout"}, space) {
		return false
	}
	for _, o := range Databases() {
		if o.Names[0] == d.Names[0] {
			continue
		}
		if slices.ContainsFunc(o.Properties, func(p Property) bool { return p.Name == key }) {
			return true
		}
		t := &translation{of: o, set: properties.NewSet(), known: map[string]bool{}}
		if o.Translate != nil {
			o.Translate(t)
		}
		if t.known[key] {
			return true
		}
	}
	return false
}

// aliases maps common wrong names to the properties that are meant.
func aliases() map[string]string {
	return map[string]string{
		"threads": "threadcount", "records": "recordcount", "operations": "operationcount",
		"interval": "measurement.interval", "distribution": "requestdistribution",
	}
}

// nearest returns the name that was probably meant.
func nearest(key string, names []string) (string, bool) {
	if name, ok := aliases()[strings.ToLower(key)]; ok {
		return name, true
	}
	best := suggest.Nearest(key, names)
	return best, best != ""
}
