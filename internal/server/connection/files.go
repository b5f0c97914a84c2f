package connection

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Service returns the settings of a service in libpq's connection service files ("The Connection Service File" in
// PostgreSQL's manual): PGSERVICEFILE or ~/.pg_service.conf, then pg_service.conf in PGSYSCONFDIR. Errors have libpq's
// texts.
func Service(name string, getenv func(string) string) (Settings, error) {
	system := filepath.Join(cmp.Or(getenv("PGSYSCONFDIR"), "/etc/postgresql-common"), "pg_service.conf")
	files := []string{system}
	own := getenv("PGSERVICEFILE")
	if home := getenv("HOME"); own != "" || home != "" {
		files = []string{cmp.Or(own, filepath.Join(home, ".pg_service.conf")), system}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		switch {
		case err != nil && file == own:
			return nil, fmt.Errorf(`service file "%s" not found`, file)
		case err != nil:
			continue
		}
		if s, err := serviceOf(file, string(text), name); s != nil || err != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf(`definition of service "%s" not found`, name)
}

// spaces are the characters that C's isspace accepts.
const spaces = " \t\n\v\f\r"

// serviceOf returns the settings of a service in the text of a file, or nil if it isn't there.
func serviceOf(file, text, name string) (s Settings, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.Trim(line, spaces)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[' && s != nil:
			return s, nil
		case strings.HasPrefix(line, "["+name+"]"):
			s = Settings{}
			continue
		case line[0] == '[' || s == nil:
			continue
		case strings.HasPrefix(line, "ldap"):
			return nil, fmt.Errorf(`service file "%s", line %d: brunt doesn't ask LDAP servers; write the settings there`,
				file, number)
		}
		key, value, ok := strings.Cut(line, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf(`syntax error in service file "%s", line %d`, file, number)
		case key == "service":
			return nil, fmt.Errorf(`nested service specifications not supported in service file "%s", line %d`, file, number)
		}
		s[key] = cmp.Or(s[key], value)
	}
	return s, nil
}

// Default gives the settings that are missing the values of others.
func (s Settings) Default(others Settings) {
	for keyword, value := range others {
		s[keyword] = cmp.Or(s[keyword], value)
	}
}

// PasswordFile is libpq's file of passwords ("The Password File" in PostgreSQL's manual).
type PasswordFile struct {
	name, text string
}

// OpenPasswordFile opens the file with a name; ~/.pgpass if that is "". A file that is missing has no passwords, nor
// has one that others than its owner may read; then warning is libpq's text.
func OpenPasswordFile(name string, getenv func(string) string) (f *PasswordFile, warning string) {
	home := getenv("HOME")
	if f = (&PasswordFile{name: name}); name == "" {
		if home == "" {
			return f, ""
		}
		f.name = filepath.Join(home, ".pgpass")
	}
	file, err := os.Open(f.name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return f, ""
	}
	if err != nil {
		return f, fmt.Sprintf(`password file "%s" can't be read`, f.name)
	}
	defer file.Close()
	about, err := file.Stat()
	switch {
	case err != nil || !about.Mode().IsRegular():
		return f, fmt.Sprintf(`password file "%s" is not a plain file`, f.name)
	case about.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return f, fmt.Sprintf(`password file "%s" has group or world access; permissions should be u=rw (0600) or less`,
			f.name)
	}
	text, err := io.ReadAll(bufio.NewReader(file))
	if err != nil {
		return f, fmt.Sprintf(`password file "%s" can't be read`, f.name)
	}
	f.text = string(text)
	return f, ""
}

// Find returns the password of the first line that fits, or "".
func (f *PasswordFile) Find(host, port, database, user string) string {
	if database == "" || user == "" {
		return ""
	}
	if host == "/var/run/postgresql" || host == "/tmp" { // where packages of PostgreSQL have their sockets
		host = ""
	}
	wanted := []string{cmp.Or(host, "localhost"), cmp.Or(port, "5432"), database, user}
	for line := range strings.Lines(f.text) {
		rest, ok := strings.TrimRight(line, "\r\n"), !strings.HasPrefix(line, "#")
		for i := 0; ok && i < len(wanted); i++ {
			rest, ok = afterField(rest, wanted[i])
		}
		if ok {
			field, _ := cutField(rest)
			return field
		}
	}
	return ""
}

// afterField returns what follows the first field of a line, if the field stands for what is wanted.
func afterField(line, wanted string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(line, "*:"); ok {
		return rest, true
	}
	field, rest := cutField(line)
	return rest, field == wanted
}

// cutField cuts the first field off a line. A backslash stands before a colon or a backslash that is part of it.
func cutField(line string) (field, rest string) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == ':':
			return b.String(), line[i+1:]
		case line[i] == '\\' && i+1 < len(line):
			i++
		}
		b.WriteByte(line[i])
	}
	return b.String(), ""
}
