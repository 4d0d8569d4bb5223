package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/config"
	"github.com/mintlake/mintlake/internal/testkit"
)

var variable = regexp.MustCompile(`^#?(?:Environment=)?(MINTLAKE_\w+)=(.*)$`)

// variablesOf are the settings that a unit or an environment file names, also those that are
// commented out.
func variablesOf(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/systemd", name))
	require.NoError(t, err)
	var variables []string
	for line := range strings.Lines(string(data)) {
		if found := variable.FindStringSubmatch(strings.TrimSpace(line)); found != nil {
			variables = append(variables, found[1]+"="+found[2])
		}
	}
	require.NotEmpty(t, variables)
	return variables
}

// TestSystemdSettingsExist: every variable of the unit and of the example is a setting with a value
// that its rule takes.
func TestSystemdSettingsExist(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		return path
	}
	secrets := map[string]string{
		"MINTLAKE_GEYSER_TOKEN_FILE": "token", "MINTLAKE_CLICKHOUSE_DSN_FILE": "clickhouse://127.0.0.1:9000",
		"MINTLAKE_SOURCE_FILE": "rpc+https://rpc.example/?api-key=x", "MINTLAKE_RPC_UPSTREAM_FILE": "https://rpc.example/?api-key=x",
	}
	for _, variable := range append(variablesOf(t, "mintlake.service"), variablesOf(t, "mintlake.env.example")...) {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasSuffix(name, "_FILE") {
			require.Contains(t, secrets, name)
			variable = name + "=" + write(name, secrets[name])
		}
		flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
		config.AddFlags(flags, defaults())
		cfg := defaults()
		require.NoError(t, config.Load(cfg, "", []string{variable}, flags), variable)
		require.NoError(t, cfg.validate(), variable)
	}
}

// TestSystemdUnit holds the unit to systemd's own checks: that it is understood, and that it is
// shut in.
func TestSystemdUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
	}
	unit, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/systemd/mintlake.service"))
	require.NoError(t, err)
	folder := t.TempDir()
	analyze := func(text string, args ...string) (string, error) {
		// verify wants the program and the user to be there, where the test has only the checkout.
		text = strings.Replace(text, "ExecStart=/usr/bin/mintlake", "ExecStart=/bin/true", 1)
		path := filepath.Join(folder, "mintlake.service")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", append(args, path)...).CombinedOutput()
		return string(out), err
	}
	mine := func(out string) string { // other units of the machine may have faults of their own
		var lines []string
		for line := range strings.Lines(out) {
			if strings.Contains(line, "mintlake") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	out, err := analyze(string(unit), "verify", "--man=no")
	require.NoError(t, err, out)
	require.Empty(t, mine(out))
	out, _ = analyze(strings.Replace(string(unit), "ProtectSystem=", "ProtectSistem=", 1), "verify", "--man=no")
	require.Contains(t, mine(out), "ProtectSistem", "the check sees a setting that systemd does not know")

	// 10 is a service without any restriction, and 2 is what systemd calls OK.
	out, err = analyze(string(unit), "security", "--offline=true", "--threshold=20")
	require.NoError(t, err, out)
	_, err = analyze("[Service]\nExecStart=/usr/bin/mintlake\n", "security", "--offline=true", "--threshold=20")
	require.Error(t, err, "a unit without restrictions is refused")
}
