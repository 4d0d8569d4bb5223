package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

type sample struct {
	DataDir string   `koanf:"data_dir" usage:"folder"`
	Source  []string `koanf:"source" usage:"sources" secret:"url"`
	API     struct {
		Addr  string        `koanf:"addr" usage:"address"`
		Wait  time.Duration `koanf:"wait" usage:"time"`
		Limit int           `koanf:"limit" usage:"number"`
		On    bool          `koanf:"on" usage:"switch"`
		Token string        `koanf:"token" usage:"secret" secret:"true"`
	} `koanf:"api"`
}

func defaults() *sample {
	s := &sample{DataDir: "d"}
	s.API.Addr, s.API.Wait, s.API.Limit = "a:1", time.Second, 5
	return s
}

func load(t *testing.T, file string, environ, args []string) (*sample, error) {
	t.Helper()
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "c.yaml")
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	}
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	AddFlags(flags, defaults())
	require.NoError(t, flags.Parse(args))
	s := defaults()
	return s, Load(s, path, environ, flags)
}

func TestLayersOverruleEachOther(t *testing.T) {
	s, err := load(t, "api: {addr: 'file:1', limit: 7}\nsource: [x]", []string{"MINTLAKE_API_ADDR=env:1", "MINTLAKE_API_ON=true", "HOME=/"},
		[]string{"--api-addr=flag:1", "--source=demo:?tps=1&tokens=2", "--source=none"})
	require.NoError(t, err)
	require.Equal(t, "flag:1", s.API.Addr)
	require.Equal(t, 7, s.API.Limit)
	require.True(t, s.API.On)
	require.Equal(t, time.Second, s.API.Wait, "default")
	require.Equal(t, []string{"demo:?tps=1&tokens=2", "none"}, s.Source)

	s, err = load(t, "api: {wait: 250ms}", []string{"MINTLAKE_SOURCE=file:a,file:b"}, nil)
	require.NoError(t, err)
	require.Equal(t, 250*time.Millisecond, s.API.Wait)
	require.Equal(t, []string{"file:a", "file:b"}, s.Source)
}

func TestUnknownKeysFail(t *testing.T) {
	_, err := load(t, "api: {adr: x}", nil, nil)
	require.ErrorContains(t, err, "adr")
	_, err = load(t, "", []string{"MINTLAKE_API_ADR=x"}, nil)
	require.ErrorContains(t, err, "MINTLAKE_API_ADR")
	_, err = load(t, "api: {limit: many}", nil, nil)
	require.ErrorContains(t, err, "limit")
}

// What is wrong in a file is told with its line, and with the name that was meant.
func TestProblemsOfAFileHaveLines(t *testing.T) {
	for text, want := range map[string][]string{
		"data_dir: x\napi:\n  adr: y\n  limt: 5\n": {"c.yaml line 3: there is no setting api.adr; did you mean api.addr?", "c.yaml line 4: there is no setting api.limt; did you mean api.limit?"},
		"data_dir: x\napi:\n  limit: many":         {"c.yaml line 3: api.limit: cannot parse"},
		"api:\n  addr: x\n wait: 5s":               {"c.yaml: yaml: line 2"},
		"- a\n- b":                                 {"c.yaml line 1"},
		"\napi: 5":                                 {"c.yaml line 2: api needs keys of its own"},
		"api: &a {adr: x}\nsource: [x]\n<<: *a":    {"c.yaml line 1: there is no setting api.adr; did you mean api.addr?"},
	} {
		_, err := load(t, text, nil, nil)
		for _, part := range want {
			require.ErrorContains(t, err, part)
		}
	}
	_, err := load(t, "api: {limit: 5}", []string{"MINTLAKE_API_LIMIT=many"}, nil)
	require.ErrorContains(t, err, "limit")
	require.NotContains(t, err.Error(), "line", "the file is not to blame")
	_, err = load(t, "", []string{"MINTLAKE_API_ADR=x"}, nil)
	require.ErrorContains(t, err, "did you mean MINTLAKE_API_ADDR?")
	s, err := load(t, "", []string{"MINTLAKE_URL=http://x"}, nil)
	require.NoError(t, err, "the commands that ask a node read it")
	require.Equal(t, "d", s.DataDir)
	_, err = load(t, "# nothing is set\n", nil, nil)
	require.NoError(t, err)
}

func TestDumpHidesSecrets(t *testing.T) {
	s := defaults()
	s.API.Token = "hunter2"
	out, err := Dump(s)
	require.NoError(t, err)
	require.NotContains(t, string(out), "hunter2")
	require.Contains(t, string(out), "'***'")
	require.Contains(t, string(out), "wait: 1s")

	again, err := load(t, string(out), []string{"MINTLAKE_API_TOKEN=hunter2"}, nil)
	require.NoError(t, err, "a dump can be loaded")
	require.Equal(t, s.API.Limit, again.API.Limit)
	_, err = load(t, string(out), nil, nil)
	require.ErrorContains(t, err, ": api.token: *** stands for a secret that a dump left out", "the stars are no token")
}

func TestSecretsFromFiles(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	secret := write("hunter2\r\n")
	for name, c := range map[string]struct {
		file          string
		environ, args []string
	}{
		"file":        {file: "api: {token_file: " + secret + "}"},
		"environment": {environ: []string{"MINTLAKE_API_TOKEN_FILE=" + secret}},
		"flag":        {args: []string{"--api-token-file=" + secret}},
		"flag first":  {file: "api: {token_file: /nowhere}", args: []string{"--api-token-file=" + secret}},
	} {
		s, err := load(t, c.file, c.environ, c.args)
		require.NoError(t, err, name)
		require.Equal(t, "hunter2", s.API.Token, name)
	}
	for want, environ := range map[string][]string{
		"api.token and api.token_file: only one can be set": {"MINTLAKE_API_TOKEN=hunter3", "MINTLAKE_API_TOKEN_FILE=" + secret},
		"api.token_file: open /nowhere":                     {"MINTLAKE_API_TOKEN_FILE=/nowhere"},
		"is empty, must hold a secret":                      {"MINTLAKE_API_TOKEN_FILE=" + write("\n")},
		"more than 4096 bytes":                              {"MINTLAKE_API_TOKEN_FILE=" + write(strings.Repeat("hunter2", 1000))},
		// no secret, no file
		"MINTLAKE_API_ADDR_FILE": {"MINTLAKE_API_ADDR_FILE=" + secret},
	} {
		_, err := load(t, "", environ, nil)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter")
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestListsOfSecretURLs: they come from a file, one a line, and a dump shows no key that a URL has.
func TestListsOfSecretURLs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sources")
	list := []string{"rpc+https://a.example/?api-key=hunter2", "geyser+https://b.example:443", "https://user:hunter2@c.example", "https://d.example/hunter2/", "file:/some path", "none"}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(list, "\n")+"\r\n\n"), 0o600))
	for _, args := range [][]string{{"--source-file=" + path}, nil} {
		var environ []string
		if args == nil {
			environ = []string{"MINTLAKE_SOURCE_FILE=" + path}
		}
		s, err := load(t, "", environ, args)
		require.NoError(t, err)
		require.Equal(t, list, s.Source)
		out, err := Dump(s)
		require.NoError(t, err)
		require.NotContains(t, string(out), "hunter2")
		for _, shown := range []string{"- rpc+https://a.example/***\n", "- geyser+https://b.example:443\n", "- https://c.example/***\n", "- https://d.example/***\n", "- file:/some path\n", "- none\n"} {
			require.Contains(t, string(out), shown)
		}
		_, err = load(t, string(out), nil, nil)
		require.ErrorContains(t, err, ": source: *** stands for")
	}
	_, err := load(t, "source: [https://hunter2]", []string{"MINTLAKE_SOURCE_FILE=" + path}, nil)
	require.EqualError(t, err, "source and source_file: only one can be set")
	_, err = load(t, "", []string{"MINTLAKE_SOURCE=https://hunter2", "MINTLAKE_SOURCE_FILE=" + path}, nil)
	require.EqualError(t, err, "source and source_file: only one can be set")
}
