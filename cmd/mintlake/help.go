package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mintlake/mintlake/internal/config"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/nearest"
)

// settingsInHelp are the settings that the help of a command shows. Each is a flag, or the first
// words of several flags: "rpc" means all that begin with --rpc-. --help-all shows all settings.
var settingsInHelp = map[string][]string{
	"up":        {"source", "data-dir", "rooms", "rpc-upstream", "api-addr", "rpc-addr", "stream-addr", "swap-addr", "kafka-brokers", "clickhouse-dsn", "log-level"},
	"ingest":    {"source", "ingest", "geyser", "record", "check-links", "rpc-upstream", "kafka-brokers", "log-level"},
	"enrich":    {"enrich", "rpc-upstream", "kafka-brokers", "log-level"},
	"projector": {"projector", "swaps", "kafka-brokers", "clickhouse-dsn", "log-level"},
	"volume":    {"volume", "kafka-brokers", "clickhouse-dsn", "log-level"},
	"api":       {"api", "rate-limits", "kafka-brokers", "clickhouse-dsn", "log-level"},
	"gateway":   {"rpc", "stream", "admin-addr", "admin-token-file", "kafka-brokers", "log-level"},
	"swap":      {"swap", "rpc-upstream", "kafka-brokers", "log-level"},
	"probe":     {"metrics-addr"},
	"config":    {},
	"preflight": {"source", "rpc-upstream", "rpc-upstream-ws", "geyser-accounts", "stream-transactions", "log-level"},
}

// usualSettings are those that the help of every other command shows.
var usualSettings = []string{"data-dir", "kafka-brokers", "clickhouse-dsn", "rpc-upstream", "log-level"}

// helpAll is the flag --help-all, which is --help with all settings.
type helpAll struct{ all, help bool }

func (h *helpAll) String() string   { return "" }
func (h *helpAll) Type() string     { return "bool" }
func (h *helpAll) IsBoolFlag() bool { return true }
func (h *helpAll) Set(string) error {
	h.all, h.help = true, true
	return nil
}

// shapeHelp sets up help, completion and errors: help shows only a command's main settings,
// completion knows the values of settings, and errors suggest what was meant.
func shapeHelp(root *cobra.Command) {
	h := &helpAll{}
	root.PersistentFlags().BoolVarP(&h.help, "help", "h", false, "show this")
	all := root.PersistentFlags().VarPF(h, "help-all", "", "show this, with the flags of all settings")
	all.NoOptDefVal = "true"
	cobra.AddTemplateFunc("shownFlags", func(cmd *cobra.Command) string { return shownFlags(cmd, h.all) })
	cobra.AddTemplateFunc("leftOut", func(cmd *cobra.Command) bool { return !h.all && leavesOut(cmd) })
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}",
		"{{shownFlags . | trimTrailingWhitespaces}}{{if leftOut .}}\n\nOther settings have flags too: --help-all lists them.{{end}}", 1))
	root.SetFlagErrorFunc(nearFlag)
	root.InitDefaultCompletionCmd()
	visitCommands(root, func(cmd *cobra.Command) {
		completeValues(cmd)
		if cmd.HasSubCommands() && cmd != root && !cmd.Runnable() {
			cmd.Args, cmd.RunE = knownChild, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	})
	root.SuggestionsMinimumDistance = 2
}

func visitCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, child := range cmd.Commands() {
		visitCommands(child, visit)
	}
}

// isShown reports whether --help shows a flag.
func isShown(cmd *cobra.Command, flag *pflag.Flag) bool {
	if _, isSetting := flag.Annotations[config.SettingAnnotation]; !isSetting {
		return true
	}
	shown, named := settingsInHelp[cmd.Name()]
	if !named || cmd.Parent() != cmd.Root() {
		shown = usualSettings
	}
	return slices.ContainsFunc(shown, func(begin string) bool { return flag.Name == begin || strings.HasPrefix(flag.Name, begin+"-") })
}

func shownFlags(cmd *cobra.Command, all bool) string {
	shown := pflag.NewFlagSet("shown", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if all || isShown(cmd, flag) {
			shown.AddFlag(flag)
		}
	})
	return shown.FlagUsages()
}

func leavesOut(cmd *cobra.Command) (found bool) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { found = found || !isShown(cmd, flag) })
	return found
}

// flagRules are what the values of flags must be, by the flag's type.
var flagRules = map[string]string{
	"bool": "true or false", "duration": "a duration, such as 30s or 5m", "float64": "a number", "int": "a whole number", "int32": "a whole number", "int64": "a whole number",
	"uint": "a whole number from 0 on", "uint32": "a whole number from 0 on", "uint64": "a whole number from 0 on",
}

// nearFlag says what a wrong flag should be: the name of the flag that may be meant, or the rule
// for its value.
func nearFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &bare):
		return fmt.Errorf("%s: --%s needs a value (%s --help tells more)", cmd.CommandPath(), bare.GetFlag().Name, cmd.CommandPath())
	case errors.As(err, &wrong):
		if rule := flagRules[wrong.GetFlag().Value.Type()]; rule != "" {
			return fmt.Errorf("%s: --%s is %.40q: must be %s", cmd.CommandPath(), wrong.GetFlag().Name, wrong.GetValue(), rule)
		}
		return fmt.Errorf("%s: --%s is %.40q: %w", cmd.CommandPath(), wrong.GetFlag().Name, wrong.GetValue(), wrong.Unwrap())
	case !errors.As(err, &unknown):
		return err
	}
	var names []string
	note := func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) }
	cmd.Flags().VisitAll(note)
	cmd.InheritedFlags().VisitAll(note)
	return fmt.Errorf("%s has no flag --%s%s", cmd.CommandPath(), unknown.GetSpecifiedName(), nearest.Hint("--"+unknown.GetSpecifiedName(), names))
}

// knownChild returns an error if a group of commands does not have the named one.
func knownChild(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, child := range cmd.Commands() {
		names = append(names, child.Name())
	}
	return fmt.Errorf("%s has no command %.40q%s", cmd.CommandPath(), args[0], nearest.Hint(args[0], names))
}

// completeValues lets completion offer the values of settings that have only a few.
func completeValues(cmd *cobra.Command) {
	for name, values := range map[string][]string{
		"rooms": allRooms(), "log-level": {"debug", "info", "warn", "error"}, "log-format": {"text", "json"},
		"geyser-commitment": {"confirmed", "finalized"}, "kafka-compression": kafka.Compressions(), "api-ranking": {"volume", "user_volume", "organic_volume"},
	} {
		if cmd.Flags().Lookup(name) != nil {
			// fails only for a flag that does not exist
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if cmd.Flags().Lookup("source") != nil {
		_ = cmd.RegisterFlagCompletionFunc("source", completeSource)
	}
}

// completeSource offers the kinds of sources, and files after "file:".
func completeSource(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.HasPrefix(typed, "file:") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return []string{
		"demo:\tthe simulated chain", "demo:?tps=100&tokens=500\tthe simulated chain, with its size", "geyser+https://\ta Yellowstone gRPC stream",
		"rpc+https://\tblocks by JSON-RPC", "file:\trecorded blocks", "none\tread nothing",
	}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
