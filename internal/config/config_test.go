package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

type sample struct {
	DataDir string   `koanf:"data_dir" usage:"folder"`
	Source  []string `koanf:"source" usage:"sources"`
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

func TestDumpHidesSecrets(t *testing.T) {
	s := defaults()
	s.API.Token = "hunter2"
	out, err := Dump(s)
	require.NoError(t, err)
	require.NotContains(t, string(out), "hunter2")
	require.Contains(t, string(out), "'***'")
	require.Contains(t, string(out), "wait: 1s")

	again, err := load(t, string(out), nil, nil)
	require.NoError(t, err, "a dump can be loaded")
	require.Equal(t, s.API.Limit, again.API.Limit)
}
