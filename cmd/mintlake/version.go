package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
)

// A release sets these by -ldflags '-X main.version=1.2.3 -X main.commit=… -X main.date=…'. Without
// them, Go's build information is used.
var (
	version string // without the v of the tag
	commit  string // of the source, in full
	date    string // of the commit, RFC 3339
)

// buildInfo describes the source of this binary. A field without a known value is "unknown".
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Modified bool   `json:"modified"` // the checkout had changes that the commit does not have
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild returns the build of this process.
func thisBuild() buildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info)
}

// buildOf takes from info what -ldflags did not set.
func buildOf(info *debug.BuildInfo) buildInfo {
	b := buildInfo{
		Version: version, Commit: commit, Date: date,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if b.Commit == "" {
		b.Commit, b.Modified = settings["vcs.revision"], settings["vcs.modified"] == "true"
		if b.Date == "" {
			b.Date = settings["vcs.time"]
		}
	}
	if b.Version == "" {
		b.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	for _, field := range []*string{&b.Version, &b.Commit, &b.Date} {
		if *field == "" {
			*field = "unknown"
		}
	}
	return b
}

// String is the line that `mintlake version` and `mintlake --version` print.
func (b buildInfo) String() string {
	state := ""
	if b.Modified {
		state = " with changes"
	}
	return fmt.Sprintf("mintlake %s (commit %s%s, %s, %s, %s)", b.Version, b.Commit, state, b.Date, b.Go, b.Platform)
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and date of this binary",
		Args:  cli.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			build := thisBuild()
			if !asJSON {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), build)
				return err
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(build)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
