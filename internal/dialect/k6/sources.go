//go:build !nok6

package k6x

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"
	"go.k6.io/k6/v2/lib/fsext"

	"brunt/internal/base/lazyregexp"
)

// sources is k6's file system for scripts. It records what has been read. It is safe for concurrent use.
type sources struct {
	fsext.Fs
	config string // path of k6's configuration file

	mu    sync.Mutex
	sums  map[string][sha256.Size]byte // by path, of all files but the configuration
	stdin []byte                       // what was read from standard input
	main  bool                         // the script was read
	setup bool                         // a file that was read may have a function setup
	calls bool                         // … imports a module that makes requests
	asks  bool                         // … a module of k6's own that makes requests
}

// callers matches scripts, and archives of them, that import a module that makes requests.
var callers = lazyregexp.New(`k6/(?:http|net/grpc|x/)`)

// askers matches scripts, and archives of them, that import a module of k6's own that makes requests.
var askers = lazyregexp.New(`k6/(?:http|net/grpc)`)

// setups matches scripts, and archives of them, that may have a function setup.
var setups = lazyregexp.New(`\bsetup\b`)

// maySetUp reports whether the script may have a function setup, which k6 calls before the load.
func (s *sources) maySetUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setup || setups().Match(s.stdin)
}

// requests reports whether the script may make requests with k6's own modules.
func (s *sources) requests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks || askers().Match(s.stdin)
}

// mayCall reports whether the script may make requests, which become operations.
func (s *sources) mayCall() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls || callers().Match(s.stdin)
}

// Limits in bytes of what may never end: standard input, devices and pipes.
const (
	mostScript = 64 << 20
	mostData   = 1 << 30 // archives, and what scripts open
)

// bounded is a file that may never end. Reading it fails beyond a limit.
type bounded struct {
	afero.File
	read, most int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.File.Read(p)
	if b.read += int64(n); b.read > b.most {
		return n, endless(b.Name(), b.most)
	}
	return n, err
}

func endless(name string, most int64) error {
	return fmt.Errorf("%s: it has no end after %d MiB; give a file of a known length", name, most>>20)
}

// Open implements afero.Fs.
func (s *sources) Open(name string) (afero.File, error) {
	file, err := s.Fs.Open(name)
	if err != nil {
		return file, err
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return file, nil
	} else if !info.Mode().IsRegular() {
		return &bounded{File: file, most: s.most()}, nil
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return file, err
	}
	if filepath.Clean(name) == filepath.Clean(s.config) {
		return lenient(file, name, lenientConfig)
	}
	ext := path.Ext(name)
	var calls, asks, setup bool
	if ext == ".js" || ext == ".ts" || ext == ".tar" {
		data, err := io.ReadAll(file)
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return file, err
		}
		calls, asks, setup = callers().Match(data), askers().Match(data), setups().Match(data)
	}
	s.mu.Lock()
	s.sums[name] = [sha256.Size]byte(sum.Sum(nil))
	s.calls, s.asks, s.setup = s.calls || calls, s.asks || asks, s.setup || setup
	imported := s.main
	s.main = true // k6 reads the script before what it imports and opens
	s.mu.Unlock()
	if imported || ext != ".js" && ext != ".ts" {
		return file, nil
	}
	return lenient(file, name, func(text []byte) []byte { return lenientScript(text, path.Base(filepath.ToSlash(name))) })
}

// most returns the limit of the next file that may never end.
func (s *sources) most() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main {
		return mostData
	}
	return mostScript
}

// stdinOf records a script that is read from standard input, and appends what lenientScript appends to those of files.
type stdinOf struct {
	from  io.Reader
	s     *sources
	read  int64
	after *strings.Reader // nil until the script has been read
}

// Read implements io.Reader.
func (r *stdinOf) Read(p []byte) (int, error) {
	if r.after != nil {
		return r.after.Read(p)
	}
	n, err := r.from.Read(p)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.read += int64(n); r.read <= mostScript {
		r.s.stdin = append(r.s.stdin, p[:n]...)
	} else if most := r.most(); r.read > most {
		return n, endless("standard input", most)
	}
	if err == io.EOF && len(r.s.stdin) > 0 && !isArchive(r.s.stdin) {
		r.after, err = strings.NewReader(fmt.Sprintf(afterTheScript, theOptions)), nil
	}
	return n, err
}

func (r *stdinOf) most() int64 {
	if isArchive(r.s.stdin) {
		return mostData
	}
	return mostScript
}

// isArchive reports whether a text begins as an archive of k6 does, which is a tar file (POSIX.1-1988, ustar).
func isArchive(text []byte) bool {
	const at, magic = 257, "ustar"
	return len(text) >= at+len(magic) && string(text[at:at+len(magic)]) == magic
}

// sum returns the hash of the script at path script, and a hash of everything else that was read: its imports and data,
// whatever their paths. A hash is "" if there is nothing to hash.
func (s *sources) sum(script string) (ofScript, ofOthers string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path.Base(script) == "-" {
		ofScript = fmt.Sprintf("%x", sha256.Sum256(s.stdin))
	}
	var others []string
	for name, sum := range s.sums {
		if name == script {
			ofScript = fmt.Sprintf("%x", sum)
		} else {
			others = append(others, fmt.Sprintf("%x", sum))
		}
	}
	if len(others) == 0 {
		return ofScript, ""
	}
	slices.Sort(others)
	return ofScript, fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(others, " "))))
}

// lenient returns a file with the text that change returns.
func lenient(file afero.File, name string, change func([]byte) []byte) (afero.File, error) {
	data, err := io.ReadAll(file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return file, err
	}
	text := change(data)
	if bytes.Equal(text, data) {
		return file, nil
	}
	memory := fsext.NewMemMapFs()
	if err := fsext.WriteFile(memory, name, text, fs.ModePerm); err != nil {
		return file, nil
	}
	return memory.Open(name)
}

// Until 2022, k6 accepted thresholds with a single "=": the article on xk6-tarantool and later texts have "rate = 1".
// The statement below replaces it by "==" in options.thresholds after the script has been evaluated; the script's text
// isn't changed, nor are files that it imports or opens. The statement is appended at the end, so that the line numbers
// in messages stay correct. In an ECMAScript module without a variable options it throws, which is ignored. If such a
// module exports options that it got from another one, it is made to import its own exports. A tab marks the replaced
// thresholds, so that output.Output can warn about them.
const (
	singleEqual    = `^(\s*(?:rate|count|value|avg|min|max|med|p\(\s*[0-9.]+\s*\))\s*)=(\s*[-+0-9.])`
	afterTheScript = "\n" + `;(p=>{try{const o=p(),f=s=>typeof s==="string"?s.replace(/` + singleEqual + `/,"$1\t==$2"):s,` +
		`t=o.thresholds;for(const k of Object.keys(t)){const l=t[k];for(const i of Object.keys(l)){` +
		`const r=l[i];if(r&&r.threshold)r.threshold=f(r.threshold);else l[i]=f(r)}}}catch(e){}})` +
		`(()=>%s);` + "\n"
	theOptions  = `typeof options!=="undefined"?options:module.exports.options`
	ownExports  = `__brunt_exports`
	ofOwnImport = "\n" + `;import * as ` + ownExports + ` from "./%s"`
)

var (
	// optionsExported matches modules that export options without a variable of that name.
	optionsExported = lazyregexp.New(`(?m)^\s*export\s*(?:\{[^}]*\boptions\b[^}]*\}|\*\s*from\b)`)
	// importable matches names of files that need no quoting in an import.
	importable = lazyregexp.New(`^[\w.-]+$`)
)

// lenientScript appends the statement to the script in the file name.
func lenientScript(text []byte, name string) []byte {
	if optionsExported().Match(text) && importable().MatchString(name) {
		own := fmt.Sprintf(ofOwnImport, name) + fmt.Sprintf(afterTheScript, ownExports+".options")
		return append(slices.Clip(text), own...)
	}
	return append(slices.Clip(text), fmt.Sprintf(afterTheScript, theOptions)...)
}

// singleEqualIn matches what afterTheScript replaces.
var singleEqualIn = lazyregexp.New(singleEqual)

// lenientConfig replaces a single "=" by "==" in the thresholds of a configuration file of k6.
func lenientConfig(text []byte) []byte {
	var file map[string]json.RawMessage
	var thresholds map[string][]any
	if json.Unmarshal(text, &file) != nil || json.Unmarshal(file["thresholds"], &thresholds) != nil {
		return text // k6 reports what is wrong with it
	}
	changed := false
	two := func(rule any) any {
		one, ok := rule.(string)
		if !ok || !singleEqualIn().MatchString(one) {
			return rule
		}
		changed = true
		return singleEqualIn().ReplaceAllString(one, "${1}\t==${2}")
	}
	for _, rules := range thresholds {
		for i := range rules {
			if long, ok := rules[i].(map[string]any); ok {
				long["threshold"] = two(long["threshold"])
			} else {
				rules[i] = two(rules[i])
			}
		}
	}
	if !changed {
		return text
	}
	fixed, err := json.Marshal(thresholds)
	if err != nil {
		return text
	}
	file["thresholds"] = fixed
	if fixed, err = json.Marshal(file); err != nil {
		return text
	}
	return fixed
}
