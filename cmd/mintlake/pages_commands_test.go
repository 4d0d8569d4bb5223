package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

var (
	call       = regexp.MustCompile(`(?:^|[\s(/])mintlake ([a-z-][^#|;&)]*)`)
	word       = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flagAlone  = regexp.MustCompile(`^--([a-z][a-z0-9-]*)`)
	quotedText = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	// The first line of a signed manifest (mintlake snapshot v1), and of a message (mintlake has
	// migration …).
	noCommands = []string{"snapshot", "has"}
)

func TestPagesNameCommandsThatExist(t *testing.T) {
	root := rootCommand()
	flags := map[string]bool{"help": true}
	eachCommand(root, func(cmd *cobra.Command) {
		note := func(f *pflag.Flag) { flags[f.Name] = true }
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
	})
	checked := 0
	for _, p := range piecesOf(t, testkit.Root(t)) {
		if p.kind == "block typo" || strings.HasPrefix(p.kind, "block yaml") || strings.HasPrefix(p.kind, "block sql") {
			continue
		}
		for _, match := range call.FindAllStringSubmatch(quotedText.ReplaceAllString(p.text, "QUOTED"), -1) {
			// what follows explains it
			typed, _, _ := strings.Cut(match[1], "   ")
			// sudo -u mintlake mintlake …
			words := strings.Fields(strings.TrimPrefix(typed, "mintlake "))
			if !word.MatchString(words[0]) || slices.Contains(noCommands, words[0]) {
				continue
			}
			checked++
			if problem := problemOf(root, words, strings.HasPrefix(p.kind, "block")); problem != "" {
				t.Errorf("%s: mintlake %s: %s", p.at, strings.Join(words, " "), problem)
			}
		}
		if match := flagAlone.FindStringSubmatch(p.text); match != nil && p.kind != "block" && !strings.HasPrefix(p.kind, "block ") {
			if !flags[match[1]] && !toolFlags[match[1]] {
				t.Errorf("%s: no command has the flag --%s", p.at, match[1])
			}
		}
	}
	require.Greater(t, checked, 100)
}

// toolFlags are flags of other programs that pages name.
var toolFlags = map[string]bool{"read-only": true, "build-arg": true, "to-earliest": true}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, child := range cmd.Commands() {
		eachCommand(child, do)
	}
}

// problemOf says what is wrong with a call of mintlake, empty for nothing. Only a whole call has
// all its arguments.
func problemOf(cmd *cobra.Command, words []string, whole bool) string {
	var arguments []string
	for i := 0; i < len(words); i++ {
		text := words[i]
		if name, isFlag := strings.CutPrefix(text, "--"); isFlag {
			name, _, hasValue := strings.Cut(strings.TrimRight(name, "…].,"), "=")
			flag := cmd.Flags().Lookup(name)
			if flag == nil {
				flag = cmd.InheritedFlags().Lookup(name)
			}
			if flag == nil && name != "help" && name != "version" {
				return "no flag --" + name
			}
			if flag != nil && !hasValue && flag.NoOptDefVal == "" {
				i++ // its value
			}
			continue
		}
		if child := childOf(cmd, text); child != nil && len(arguments) == 0 {
			cmd = child
			continue
		}
		if cmd.HasSubCommands() && !cmd.Runnable() {
			return "no command " + text
		}
		if text == "…" || text == "\\" || strings.HasPrefix(text, "[") || strings.HasPrefix(text, "<") || strings.HasPrefix(text, ">") || strings.HasPrefix(text, "2>") {
			return "" // what follows is left out, or the shell's
		}
		arguments = append(arguments, text)
	}
	if whole || len(arguments) > 0 {
		if err := cmd.ValidateArgs(arguments); err != nil {
			return err.Error()
		}
	}
	return ""
}

func childOf(cmd *cobra.Command, name string) *cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Name() == name {
			return child
		}
	}
	return nil
}
