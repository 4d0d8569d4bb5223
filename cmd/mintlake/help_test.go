package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runOn(t, rootCommand(), args...)
}

func runOn(t *testing.T, cmd *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// Help shows what a command is about; --help-all shows every setting.
func TestHelpShowsACommandsOwnFlags(t *testing.T) {
	var paths [][]string
	root := rootCommand() // one for all: making it takes most of a run
	visitCommands(root, func(cmd *cobra.Command) { paths = append(paths, strings.Fields(cmd.CommandPath())[1:]) })
	for _, path := range paths {
		shown, err := runOn(t, root, append(path, "--help")...)
		require.NoError(t, err, path)
		require.Less(t, strings.Count(shown, "\n"), 75, "%v: %s", path, shown)
	}
	shown, err := runCommand(t, "export", "--help")
	require.NoError(t, err)
	require.Contains(t, shown, "--key ")
	require.Contains(t, shown, "--data-dir")
	require.NotContains(t, shown, "--rpc-hedge-share")
	require.Contains(t, shown, "--help-all")
	all, err := runCommand(t, "export", "--help-all")
	require.NoError(t, err)
	require.Contains(t, all, "--rpc-hedge-share")
	require.NotContains(t, all, "Other settings have flags too")
	shown, err = runCommand(t, "tokens", "get", "--help-all")
	require.NoError(t, err, "help needs no arguments")
	require.Contains(t, shown, "--url")
}

func TestTypingErrorsAreAnsweredWithWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tokns"}, "tokens"},
		{[]string{"tokens", "serch"}, "mintlake tokens has no command \"serch\"; did you mean search?"},
		{[]string{"keys", "lst"}, "did you mean list?"},
		{[]string{"up", "--data-dri", "x"}, "mintlake up has no flag --data-dri; did you mean --data-dir?"},
		{[]string{"verify", "--tabels", "x"}, "did you mean --tables?"},
		{[]string{"tokens", "get", "--jsn", "x"}, "did you mean --json?"},
		{[]string{"config", "--source", "gyser+https://h"}, "did you mean geyser+https?"},
		{[]string{"config", "--source", "demo:?tsp=5"}, "did you mean tps?"},
		{[]string{"config", "--rooms", "apis"}, "did you mean api?"},
		{[]string{"config", "--log-level", "inf"}, "did you mean info?"},
	} {
		_, err := runCommand(t, c.args...)
		require.ErrorContains(t, err, c.want, c.args)
	}
	for _, args := range [][]string{{"verify", "--tabels"}, {"verify", "foo"}} {
		_, err := runCommand(t, args...)
		require.Equal(t, 2, exitCode(err), "1 means that tables differ: %v", args)
	}
}

// TestNumbersOfArgumentsAreOurWords: no command answers a wrong number of arguments, or a wrong
// value of a flag, in the words of a library.
func TestNumbersOfArgumentsAreOurWords(t *testing.T) {
	refused := 0
	visitCommands(rootCommand(), func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			return // the library's own
		}
		for n := range 9 {
			err := cmd.ValidateArgs(slices.Repeat([]string{"x"}, n))
			if err == nil {
				continue
			}
			refused++
			require.NotContains(t, err.Error(), "arg(s)", cmd.CommandPath())
			require.NotContains(t, err.Error(), "unknown command", cmd.CommandPath())
			require.Contains(t, err.Error(), cmd.CommandPath())
		}
	})
	require.Greater(t, refused, 100)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tokens", "get"}, "MINT|SYMBOL is missing: mintlake tokens get MINT|SYMBOL (mintlake tokens get --help tells more)"},
		{[]string{"tokens", "history"}, "MINT|SYMBOL is missing: mintlake tokens history MINT|SYMBOL"},
		{[]string{"tokens", "get", "a", "b"}, `"b" is one argument too many: mintlake tokens get MINT|SYMBOL`},
		{[]string{"quote", "SOL"}, "BUY and AMOUNT are missing: mintlake quote SELL BUY AMOUNT"},
		{[]string{"status", "now"}, `mintlake status takes no arguments, and "now" is one`},
		{[]string{"logos", "set"}, "MINT is missing: mintlake logos set MINT [URL]"},
		{[]string{"tokens", "search", "--limit", "many"}, `mintlake tokens search: --limit is "many": must be a whole number`},
		{[]string{"tokens", "search", "--limit"}, "mintlake tokens search: --limit needs a value"},
		{[]string{"tokens", "search", "--min-volume", "x"}, "must be a number"},
		{[]string{"tokens", "batch", "--wait", "5"}, `--wait is "5": must be a duration, such as 30s or 5m`},
		{[]string{"tokens", "get", "--json=maybe", "x"}, `--json is "maybe": must be true or false`},
	} {
		_, err := runCommand(t, c.args...)
		require.ErrorContains(t, err, c.want, c.args)
	}
}

func TestValuesComplete(t *testing.T) {
	for want, args := range map[string][]string{
		"projector": {"up", "--rooms", ""}, "debug": {"api", "--log-level", ""}, "geyser+https://": {"up", "--source", "gey"}, "newest": {"tokens", "search", "--sort", ""},
	} {
		shown, err := runCommand(t, append([]string{"__complete"}, args...)...)
		require.NoError(t, err)
		require.Contains(t, shown, want, args)
	}
}

// Each example that help shows is a command with arguments that it takes.
func TestExamplesOfHelpAreTaken(t *testing.T) {
	root := rootCommand()
	checked := 0
	visitCommands(root, func(cmd *cobra.Command) {
		for _, line := range strings.Split(cmd.Example, "\n") {
			match := call.FindStringSubmatch(line)
			if match == nil || inCompletion(cmd) {
				continue
			}
			typed := strings.TrimPrefix(match[1], "mintlake ") // a path before it
			checked++
			words := strings.Fields(quotedText.ReplaceAllString(strings.SplitN(typed, "   ", 2)[0], "QUOTED"))
			require.Empty(t, problemOf(root, words, true), line)
		}
	})
	require.Greater(t, checked, 20)
	_, err := runCommand(t, "dead-letters", "replay", "seventeen")
	require.ErrorContains(t, err, "mintlake dead-letters replay 0/17")
}
