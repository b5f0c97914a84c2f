package ghz

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"brunt/internal/dialect/command"

	"go.yaml.in/yaml/v4"
)

// Duration is a time that config files write as text, such as "1m30s".
type Duration time.Duration

// UnmarshalJSON parses the text.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s isn't a time; write a text such as \"10s\"", text)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// Config is what flags and config files set. The names of config files' keys are those of the flags.
type Config struct {
	Proto       string   `json:"proto"`
	Protoset    string   `json:"protoset"`
	ImportPaths []string `json:"import-paths"`
	Call        string   `json:"call"`
	Host        string   `json:"host"`

	CACert    string `json:"cacert"`
	Cert      string `json:"cert"`
	Key       string `json:"key"`
	CName     string `json:"cname"`
	Authority string `json:"authority"`
	SkipTLS   bool   `json:"skipTLS"`
	Insecure  bool   `json:"insecure"`

	Total       uint     `json:"total"`
	Duration    Duration `json:"duration"`
	Stop        string   `json:"duration-stop"`
	MaxDuration Duration `json:"max-duration"`
	Timeout     Duration `json:"timeout"`
	Async       bool     `json:"async"`
	RPS         uint     `json:"rps"`

	LoadSchedule     string   `json:"load-schedule"`
	LoadStart        uint     `json:"load-start"`
	LoadEnd          uint     `json:"load-end"`
	LoadStep         int      `json:"load-step"`
	LoadStepDuration Duration `json:"load-step-duration"`
	LoadMaxDuration  Duration `json:"load-max-duration"`

	Concurrency  uint     `json:"concurrency"`
	CSchedule    string   `json:"concurrency-schedule"`
	CStart       uint     `json:"concurrency-start"`
	CEnd         uint     `json:"concurrency-end"`
	CStep        int      `json:"concurrency-step"`
	CStepTime    Duration `json:"concurrency-step-duration"`
	CMaxDuration Duration `json:"concurrency-max-duration"`

	Connections uint     `json:"connections"`
	DialTimeout Duration `json:"connect-timeout"`
	KeepAlive   Duration `json:"keepalive"`
	LBStrategy  string   `json:"lb-strategy"`

	Data            any               `json:"data"`
	DataFile        string            `json:"data-file"`
	BinaryFile      string            `json:"binary-file"`
	Metadata        map[string]string `json:"metadata"`
	MetadataFile    string            `json:"metadata-file"`
	ReflectMetadata map[string]string `json:"reflect-metadata"`
	Tags            map[string]string `json:"tags"`
	Name            string            `json:"name"`

	StreamInterval        Duration `json:"stream-interval"`
	StreamCallDuration    Duration `json:"stream-call-duration"`
	StreamCallCount       uint     `json:"stream-call-count"`
	StreamDynamicMessages bool     `json:"stream-dynamic-messages"`

	Output      string `json:"output"`
	Format      string `json:"format"`
	SkipFirst   uint   `json:"skipFirst"`
	CountErrors bool   `json:"count-errors"`
	CPUs        uint   `json:"cpus"`
	Debug       string `json:"debug"`

	Compress     bool   `json:"enable-compression"`
	MostReceived string `json:"max-recv-message-size"`
	MostSent     string `json:"max-send-message-size"`
	NoFunctions  bool   `json:"disable-template-functions"`
	NoTemplates  bool   `json:"disable-template-data"`
}

// The defaults of config files, which differ from those of flags.
const usualTimeout = Duration(20 * time.Second)

// ReadConfig reads a config file, in the form that its name ends with: .json, .toml, .yaml or .yml.
func ReadConfig(path string) (*Config, error) {
	text, err := command.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all any
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		all, err = parseTOML(text)
	case ".yaml", ".yml":
		err = yaml.Unmarshal(text, &all)
	case ".json":
		err = json.Unmarshal(text, &all)
	default:
		return nil, fmt.Errorf("%s: the name of a config file ends with .json, .toml or .yaml", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err := configOf(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// configOf fills in a configuration and the defaults of what it leaves out.
func configOf(all any) (*Config, error) {
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if err := json.Unmarshal(text, c); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s: a %s where there must be a %s", wrong.Field, wrong.Value, wrong.Type)
		}
		return nil, err
	}
	usual(&c.Total, 200)
	usual(&c.Concurrency, 50)
	usual(&c.CStart, 1)
	usual(&c.Connections, 1)
	usual(&c.Timeout, usualTimeout)
	usual(&c.DialTimeout, Duration(10*time.Second))
	usual(&c.LoadSchedule, "const")
	usual(&c.CSchedule, "const")
	usual(&c.Format, "summary")
	usual(&c.Stop, "close")
	return c, c.checkData()
}

func usual[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// checkData returns an error unless the data of a config file is an object or a list of objects.
func (c *Config) checkData() error {
	list, isList := c.Data.([]any)
	_, isObject := c.Data.(map[string]any)
	switch {
	case c.Data == nil || isObject || c.Data == "@":
		return nil
	case !isList:
		return errors.New("unsupported type for Data")
	case len(list) == 0:
		return errors.New("data array must not be empty")
	}
	for _, e := range list {
		if _, ok := e.(map[string]any); !ok {
			return errors.New("data array contains unsupported type")
		}
	}
	return nil
}
