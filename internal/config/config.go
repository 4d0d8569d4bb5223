// Package config fills a typed struct from defaults, a YAML file, the environment and flags, each
// overruling the one before.
//
// In: a struct with defaults whose fields carry `koanf` (key; "-" for a field that is no setting)
// and `usage` tags. Out: the struct, or one error that names every problem. Guarantees: a key that
// the struct does not have is an error, never ignored.
//
// One key has three spellings: `api.addr` in YAML, MINTLAKE_API_ADDR in the environment, --api-addr
// as a flag.
//
// A key that is tagged `secret:"true"` has a companion with `_file` behind its name, which names a
// file that holds the value, as Docker and Kubernetes mount secrets: `geyser.token_file`,
// MINTLAKE_GEYSER_TOKEN_FILE, --geyser-token-file. The file of a list holds one value a line. If a
// key is tagged `secret:"url"`, Dump shows the scheme and the host of its value.
package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"github.com/mintlake/mintlake/internal/nearest"
)

// fileSuffix ends the key that names a secret's file.
const fileSuffix = "_file"

// EnvPrefix begins the name of every environment variable of Mintlake.
const EnvPrefix = "MINTLAKE_"

// key is one leaf of the configuration struct.
type key struct {
	path   string
	usage  string
	secret bool
	url    bool // the secret is a URL
	value  reflect.Value
}

// isList reports whether the key has a list of values.
func (k key) isList() bool { return k.value.Kind() == reflect.Slice }

// file returns the companion key, which names a file that holds the secret.
func (k key) file() key {
	usage := "file that holds " + k.path + " instead; the end of its line does not count"
	if k.isList() {
		usage = "file that holds " + k.path + " instead, one a line"
	}
	return key{path: k.path + fileSuffix, usage: usage}
}

func (k key) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.path) }

func (k key) env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// keys lists the leaves of target, a pointer to a struct.
func keys(target any) []key {
	var list []key
	var walk func(prefix string, value reflect.Value)
	walk = func(prefix string, value reflect.Value) {
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if field.Tag.Get("koanf") == "-" {
				continue
			}
			path := prefix + field.Tag.Get("koanf")
			if field.Type.Kind() == reflect.Struct {
				walk(path+".", value.Field(i))
				continue
			}
			secret := field.Tag.Get("secret")
			list = append(list, key{path, field.Tag.Get("usage"), secret != "", secret == "url", value.Field(i)})
		}
	}
	walk("", reflect.ValueOf(target).Elem())
	return list
}

// SettingAnnotation is an annotation of each flag that AddFlags registers. A command's own flags do
// not have it.
const SettingAnnotation = "mintlake_setting"

// AddFlags registers a flag for each key of defaults, a pointer to a struct. It panics if a field
// has a type that no flag can have.
func AddFlags(flags *pflag.FlagSet, defaults any) {
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	for _, k := range keys(defaults) {
		addFlag(settings, k)
	}
	settings.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{SettingAnnotation: nil}
		flags.AddFlag(f)
	})
}

func addFlag(flags *pflag.FlagSet, k key) {
	usage := k.usage + " ($" + k.env() + ")"
	if k.secret {
		file := k.file()
		flags.String(file.flag(), "", file.usage+" ($"+file.env()+")")
	}
	switch v := k.value.Interface().(type) {
	case string:
		flags.String(k.flag(), v, usage)
	case bool:
		flags.Bool(k.flag(), v, usage)
	case int:
		flags.Int(k.flag(), v, usage)
	case int64:
		flags.Int64(k.flag(), v, usage)
	case float64:
		flags.Float64(k.flag(), v, usage)
	case time.Duration:
		flags.Duration(k.flag(), v, usage)
	case []string:
		flags.StringSlice(k.flag(), v, usage)
	default:
		panic(fmt.Sprintf("config: key %s has type %T, which no flag can have", k.path, v))
	}
}

// Load fills target, a pointer to a struct that holds the defaults. path names a YAML file; empty
// means none. environ is in the form of os.Environ. Only flags that were set count.
func Load(target any, path string, environ []string, flags *pflag.FlagSet) error {
	k := koanf.New(".")
	list := keys(target)
	lines := map[string]int{}
	if path != "" {
		var err error
		if lines, err = checkFile(path, list); err != nil {
			return err
		}
		if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
			return fmt.Errorf("configuration file %s: %w", path, err)
		}
	}
	fromEnv, err := environment(list, environ)
	if err != nil {
		return err
	}
	if err := k.Load(confmap.Provider(fromEnv, "."), nil); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	byFlag := map[string]string{} // the path of a key by the name of its flag
	for _, leaf := range list {
		byFlag[leaf.flag()] = leaf.path
		if leaf.secret {
			byFlag[leaf.file().flag()] = leaf.file().path
		}
	}
	changedOnly := posflag.ProviderWithFlag(flags, ".", k, func(f *pflag.Flag) (string, any) {
		if !f.Changed {
			return "", nil
		}
		return byFlag[f.Name], posflag.FlagVal(flags, f)
	})
	if err := k.Load(changedOnly, nil); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	for _, leaf := range list {
		if flag := flags.Lookup(leaf.flag()); fromEnv[leaf.path] != nil || flag != nil && flag.Changed {
			delete(lines, leaf.path) // the value in the file is not used
		}
	}
	if err := errors.Join(readSecrets(k, list), refuseHidden(k, list, path, lines)); err != nil {
		return err
	}
	err = k.UnmarshalWithConf("", target, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: target, TagName: "koanf", ErrorUnused: true, WeaklyTypedInput: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(",")),
	}})
	if err != nil {
		return fmt.Errorf("configuration: %w", placed(err, path, lines))
	}
	return nil
}

// environment returns the values of the keys that are set in environ. A variable that has the
// prefix and is no key is an error.
func environment(list []key, environ []string) (map[string]any, error) {
	known := map[string]string{}
	for _, leaf := range list {
		known[leaf.env()] = leaf.path
		if leaf.secret {
			known[leaf.file().env()] = leaf.file().path
		}
	}
	values := map[string]any{}
	var unknown []error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		path, ok := known[name]
		switch {
		case ok:
			values[path] = value
		case strings.HasPrefix(name, EnvPrefix) && !reserved(name):
			unknown = append(unknown, fmt.Errorf("environment variable %s: no such key%s; `mintlake config --dump` lists them", name, nearest.Hint(name, slices.Sorted(maps.Keys(known)))))
		}
	}
	return values, errors.Join(unknown...)
}

// reserved reports whether a variable with the prefix is something else than a setting, such as a
// folder of the tools, a switch of the tests or the mark of a child process.
func reserved(name string) bool {
	// The commands that ask a running node read these.
	if slices.Contains([]string{"URL", "SWAP_URL", "SWAP_KEY"}, strings.TrimPrefix(name, EnvPrefix)) {
		return true
	}
	for _, prefix := range []string{"LIBCHDB", "CACHE_DIR", "CONFIG", "TEST_", "REQUIRE_", "CHILD_"} {
		if strings.HasPrefix(name, EnvPrefix+prefix) {
			return true
		}
	}
	return false
}

// Dump lists every key with its value as YAML. It shows "***" for a secret that is set, and the
// scheme and the host of a secret that is a URL.
func Dump(target any) ([]byte, error) {
	k := koanf.New(".")
	for _, leaf := range keys(target) {
		value := leaf.value.Interface()
		switch v := value.(type) {
		case string:
			value = leaf.hide(v)
		case []string:
			shown := make([]string, len(v))
			for i := range v {
				shown[i] = leaf.hide(v[i])
			}
			value = shown
		case time.Duration:
			value = v.String()
		}
		if err := k.Set(leaf.path, value); err != nil {
			return nil, fmt.Errorf("dump %s: %w", leaf.path, err)
		}
	}
	return k.Marshal(yaml.Parser())
}
