// Package ghz is the command line, the config files and the reports of ghz (github.com/bojand/ghz, 0.120.0).
package ghz

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect/command"

	"github.com/spf13/pflag"
)

// Options are the options of a command line, with its config file.
type Options struct {
	Config
	data     []byte // of calls; JSON, or a template that becomes JSON, or messages as they are sent
	binary   bool   // data is messages as they are sent
	metadata []byte
	given    map[string]bool // flags of the command line
}

// texts are the flags whose values are JSON, and what isn't kept.
type texts struct {
	imports, data, metadata, tags, reflected string
	binary                                   bool
}

// formats are those of reports.
var formats = []string{"summary", "csv", "json", "pretty", "html", "influx-summary", "influx-details", "prometheus"}

// bind binds all flags.
func (c *Config) bind(fs *pflag.FlagSet, t *texts) {
	fs.StringVar(&c.Proto, "proto", "", ".proto file that describes the method")
	fs.StringVar(&c.Protoset, "protoset", "", "descriptor set, instead")
	fs.StringVar(&c.Call, "call", "", "method, package.Service/Method or package.Service.Method")
	fs.StringVarP(&t.imports, "import-paths", "i", "", "comma-separated folders of what it imports")
	fs.StringVar(&c.CACert, "cacert", "", "authority's certificate (PEM)")
	fs.StringVar(&c.Cert, "cert", "", "the client's certificate (PEM)")
	fs.StringVar(&c.Key, "key", "", "its key (PEM)")
	fs.StringVar(&c.CName, "cname", "", "name in the server's certificate")
	fs.BoolVar(&c.SkipTLS, "skipTLS", false, "don't verify the server's certificate")
	fs.BoolVar(&c.Insecure, "insecure", false, "without TLS")
	fs.StringVar(&c.Authority, "authority", "", "the :authority of calls")
	fs.BoolVar(&c.Async, "async", false, "don't wait for answers before further calls")
	fs.UintVarP(&c.RPS, "rps", "r", 0, "calls a second; 0: no limit")
	fs.StringVar(&c.LoadSchedule, "load-schedule", "const", "const, step or line")
	fs.UintVar(&c.LoadStart, "load-start", 0, "step and line: calls a second at first")
	fs.IntVar(&c.LoadStep, "load-step", 0, "step and line: how much is added")
	fs.UintVar(&c.LoadEnd, "load-end", 0, "step and line: calls a second at last")
	fs.DurationVar((*time.Duration)(&c.LoadStepDuration), "load-step-duration", 0, "step: time between changes")
	fs.DurationVar((*time.Duration)(&c.LoadMaxDuration), "load-max-duration", 0, "step and line: time of changes")
	fs.UintVarP(&c.Concurrency, "concurrency", "c", 50, "calls in flight")
	fs.StringVar(&c.CSchedule, "concurrency-schedule", "const", "const, step or line")
	fs.UintVar(&c.CStart, "concurrency-start", 0, "step and line: calls in flight at first")
	fs.UintVar(&c.CEnd, "concurrency-end", 0, "step and line: calls in flight at last")
	fs.IntVar(&c.CStep, "concurrency-step", 1, "step and line: how much is added")
	fs.DurationVar((*time.Duration)(&c.CStepTime), "concurrency-step-duration", 0, "step: time between changes")
	fs.DurationVar((*time.Duration)(&c.CMaxDuration), "concurrency-max-duration", 0, "step and line: time of changes")
	fs.UintVarP(&c.Total, "total", "n", 200, "calls")
	fs.DurationVarP((*time.Duration)(&c.Timeout), "timeout", "t", 20*time.Second, "of a call; 0: none")
	fs.DurationVarP((*time.Duration)(&c.Duration), "duration", "z", 0, "of the load, whatever -n says")
	fs.DurationVarP((*time.Duration)(&c.MaxDuration), "max-duration", "x", 0, "the longest time of -n calls")
	fs.StringVar(&c.Stop, "duration-stop", "close", "calls in flight at the end of -z: close, wait or ignore")
	fs.StringVarP(&t.data, "data", "d", "", "messages as JSON; @: from standard input")
	fs.StringVarP(&c.DataFile, "data-file", "D", "", "file with them")
	fs.StringVarP(&c.BinaryFile, "binary-file", "B", "",
		"file with messages as they are sent: one, or each after its length")
	fs.BoolVarP(&t.binary, "binary", "b", false, "take such messages from standard input")
	fs.StringVarP(&t.metadata, "metadata", "m", "", "metadata as JSON")
	fs.StringVarP(&c.MetadataFile, "metadata-file", "M", "", "file with it")
	fs.DurationVar((*time.Duration)(&c.StreamInterval), "stream-interval", 0, "not supported for streams")
	fs.DurationVar((*time.Duration)(&c.StreamCallDuration), "stream-call-duration", 0, "not supported for streams")
	fs.UintVar(&c.StreamCallCount, "stream-call-count", 0, "messages of a stream")
	fs.BoolVar(&c.StreamDynamicMessages, "stream-dynamic-messages", false, "templates are executed for each message")
	fs.StringVar(&t.reflected, "reflect-metadata", "", "metadata as JSON with which the server is asked for its methods")
	fs.StringVarP(&c.Output, "output", "o", "", "file of the report")
	fs.StringVarP(&c.Format, "format", "O", "summary", "form of the report: "+strings.Join(formats, ", "))
	fs.UintVar(&c.SkipFirst, "skipFirst", 0, "leave the first calls out of the report")
	fs.BoolVar(&c.CountErrors, "count-errors", false, "times of calls that failed count too")
	fs.UintVar(&c.Connections, "connections", 1, "connections")
	fs.DurationVar((*time.Duration)(&c.DialTimeout), "connect-timeout", 10*time.Second, "time to connect")
	fs.DurationVar((*time.Duration)(&c.KeepAlive), "keepalive", 0, "accepted")
	fs.StringVar(&c.Name, "name", "", "name of the test")
	fs.StringVar(&t.tags, "tags", "", "tags as JSON")
	fs.UintVar(&c.CPUs, "cpus", uint(runtime.GOMAXPROCS(-1)), "accepted")
	fs.StringVar(&c.Debug, "debug", "", "accepted")
	fs.BoolVarP(&c.Compress, "enable-compression", "e", false, "compress messages by gzip")
	fs.StringVar(&c.LBStrategy, "lb-strategy", "", "accepted")
	fs.StringVar(&c.MostReceived, "max-recv-message-size", "", "accepted")
	fs.StringVar(&c.MostSent, "max-send-message-size", "", "accepted")
	fs.BoolVar(&c.NoFunctions, "disable-template-functions", false, "templates have no functions")
	fs.BoolVar(&c.NoTemplates, "disable-template-data", false, "data isn't a template")
}

// Parse parses a command line without the program's name. in is standard input.
func Parse(args []string, in io.Reader) (*Options, error) {
	o, t := &Options{}, &texts{}
	path, version, help := "", false, false
	flags := func(c *Config) *pflag.FlagSet {
		fs := pflag.NewFlagSet("ghz", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.Usage = func() {}
		c.bind(fs, t)
		fs.StringVar(&path, "config", "", "config file: .json, .toml or .yaml")
		fs.BoolVarP(&version, "version", "v", false, "")
		fs.BoolVarP(&help, "help", "h", false, "")
		return fs
	}
	args = negated(args)
	fs := flags(&o.Config)
	err := fs.Parse(args)
	switch {
	case help:
		return nil, errHelp
	case err != nil:
		return nil, usageOf(err)
	case version:
		return nil, errVersion
	case fs.NArg() > 1:
		return nil, fmt.Errorf("unexpected %s, try --help", fs.Arg(1))
	}
	if path = strings.TrimSpace(path); path != "" {
		c, err := ReadConfig(path)
		if err != nil {
			return nil, err
		}
		var given [][2]string
		fs.Visit(func(f *pflag.Flag) { given = append(given, [2]string{f.Name, f.Value.String()}) })
		over := flags(&o.Config)
		o.Config = *c // flags has set the defaults of the command line
		for _, f := range given {
			if err := over.Set(f[0], f[1]); err != nil {
				return nil, usageOf(err)
			}
		}
	}
	if fs.NArg() == 1 {
		o.Host = fs.Arg(0)
	}
	o.given = map[string]bool{}
	fs.Visit(func(f *pflag.Flag) { o.given[f.Name] = true })
	if err := o.decode(fs, t); err != nil {
		return nil, err
	}
	return o, o.finish(in, t.binary)
}

var (
	errHelp    = errors.New("help")
	errVersion = errors.New("version")
)

// usageOf returns a mistake of the command line in kingpin's words, which programs may look for.
func usageOf(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := unknown.GetSpecifiedName()
		if len(name) == 1 {
			return fmt.Errorf("unknown short flag '-%s', try --help", name)
		}
		return fmt.Errorf("unknown long flag '--%s', try --help", name)
	}
	return fmt.Errorf("%s, try --help", err)
}

// negated replaces --no-FLAG.
func negated(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if name, ok := strings.CutPrefix(a, "--no-"); ok {
			args[i] = "--" + name + "=false"
		}
	}
	return args
}

// decode decodes the flags whose values are JSON.
func (o *Options) decode(fs *pflag.FlagSet, t *texts) error {
	if fs.Changed("import-paths") {
		o.ImportPaths = strings.Split(strings.TrimSpace(t.imports), ",")
	}
	for _, f := range []struct {
		flag, what, text string
		to               any
	}{
		{"metadata", "metadata", t.metadata, &o.Metadata}, {"tags", "tags", t.tags, &o.Tags},
		{"reflect-metadata", "reflection metadata", t.reflected, &o.ReflectMetadata},
	} {
		if text := strings.TrimSpace(f.text); fs.Changed(f.flag) && text != "" {
			if err := json.Unmarshal([]byte(text), f.to); err != nil {
				return fmt.Errorf("error unmarshaling %s '%s': %w", f.what, text, err)
			}
		}
	}
	if text := strings.TrimSpace(t.data); fs.Changed("data") && text != "" {
		if text == "@" {
			o.Data = "@"
		} else if err := json.Unmarshal([]byte(text), &o.Data); err != nil {
			return fmt.Errorf("error unmarshaling data '%s': %w", text, err)
		}
	}
	return nil
}

// unlimited is the number of calls of a load by time.
const unlimited = math.MaxInt32

// finish checks the options and reads what they name.
func (o *Options) finish(in io.Reader, binary bool) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if o.MaxDuration > 0 {
		o.Duration = o.MaxDuration
	} else if o.Duration > 0 {
		o.Total = unlimited
	}
	if o.LoadSchedule == "line" {
		o.LoadStepDuration = Duration(time.Second)
	}
	if o.CSchedule == "line" {
		o.CStepTime = Duration(time.Second)
	}
	if o.Proto != "" {
		var folders []string
		if dir := filepath.Dir(o.Proto); dir != "." {
			folders = append(folders, dir)
		}
		o.ImportPaths = append(append(folders, "."), o.ImportPaths...)
	}
	switch {
	case o.Data == "@":
		o.data, err = command.ReadInput(in)
	case strings.TrimSpace(o.DataFile) != "":
		o.data, err = command.ReadFile(strings.TrimSpace(o.DataFile))
	case o.Data != nil:
		o.data, err = json.Marshal(o.Data)
	}
	if err == nil {
		err = o.readBinary(in, binary)
	}
	if err == nil && strings.TrimSpace(o.MetadataFile) != "" {
		o.metadata, err = command.ReadFile(strings.TrimSpace(o.MetadataFile))
	} else if err == nil && o.Metadata != nil {
		o.metadata, err = json.Marshal(o.Metadata)
	}
	return err
}

// check returns an error for values that ghz refuses, or that brunt doesn't support.
func (o *Options) check() error {
	o.LoadSchedule, o.CSchedule = strings.ToLower(strings.TrimSpace(o.LoadSchedule)), strings.ToLower(o.CSchedule)
	o.LoadSchedule, o.CSchedule = cmp.Or(o.LoadSchedule, "const"), cmp.Or(o.CSchedule, "const")
	o.Stop = cmp.Or(strings.ToLower(o.Stop), "close")
	o.Connections = max(o.Connections, 1)
	known := []string{"const", "step", "line"}
	switch {
	case !slices.Contains(formats, o.Format):
		return fmt.Errorf("enum value must be one of %s, got '%s', try --help", strings.Join(formats, ","), o.Format)
	case !slices.Contains([]string{"close", "wait", "ignore"}, o.Stop):
		return fmt.Errorf("--duration-stop %s: use close, wait or ignore", o.Stop)
	case o.Proto != "" && filepath.Ext(o.Proto) != ".proto":
		return errors.New("proto: must have .proto extension")
	case o.Connections > o.Concurrency:
		return errors.New("number of connections cannot be greater than concurrency")
	case o.Call == "":
		return errors.New("call required")
	case o.Host == "":
		return errors.New("host required")
	case !slices.Contains(known, o.LoadSchedule):
		return errors.New(`schedule much be "const", "step", or "line"`)
	case !slices.Contains(known, o.CSchedule):
		return fmt.Errorf("--concurrency-schedule %s: use const, step or line", o.CSchedule)
	case o.Total == 0 || o.Concurrency == 0:
		return errors.New("give at least one call and one call in flight")
	case o.Timeout < 0 || o.Duration < 0 || o.MaxDuration < 0:
		return errors.New("give times of at least 0")
	case o.SkipFirst > o.Total && o.Duration == 0:
		return errors.New("you cannot skip more requests than those run")
	}
	for _, size := range [][2]string{{"recv", o.MostReceived}, {"send", o.MostSent}} {
		if o.given["max-"+size[0]+"-message-size"] && !sizeForm().MatchString(strings.ToLower(size[1])) {
			return fmt.Errorf("invalid max call %s message size: %q; give one such as 4MB", size[0], size[1])
		}
	}
	return o.checkSchedules()
}

// sizeForm matches a size in lower case: a number, and a unit.
var sizeForm = lazyregexp.New(`^[0-9]{1,15}(\.[0-9]+)?\s*(b|[kmgtp]i?b?)?$`)

func (o *Options) checkSchedules() error {
	if o.LoadSchedule != "const" {
		switch {
		case o.LoadStart == o.LoadEnd:
			return errors.New("load start cannot equal load end")
		case o.LoadStep == 0:
			return errors.New("invalid load step")
		case o.LoadSchedule == "step" && o.LoadStepDuration <= 0:
			return errors.New("invalid load step duration")
		case o.LoadStart == 0:
			return errors.New("--load-start 0: give calls a second")
		case o.LoadEnd == 0 && o.LoadMaxDuration == 0 && o.Duration == 0 && o.MaxDuration == 0 && o.LoadStep < 0:
			return errors.New("the load would end before its calls are sent: give --load-end")
		}
	}
	if o.CSchedule == "const" {
		return nil
	}
	switch {
	case o.CStart == o.CEnd:
		return errors.New("concurrency start start cannot equal concurrency end")
	case o.CStep == 0:
		return errors.New("invalid concurrency step")
	case o.CSchedule == "step" && o.CStepTime <= 0:
		return errors.New("invalid concurrency step duration")
	}
	return nil
}
