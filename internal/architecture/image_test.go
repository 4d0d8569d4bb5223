package architecture

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// sent answers whether `docker build` sends a file to the builder, by .dockerignore.
func sent(t *testing.T) func(file string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), ".dockerignore"))
	require.NoError(t, err)
	patterns, err := ignorefile.ReadAll(bytes.NewReader(text))
	require.NoError(t, err)
	matcher, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	return func(file string) bool {
		ignored, err := matcher.MatchesOrParentMatches(file)
		require.NoError(t, err)
		return !ignored
	}
}

// copied returns what the COPY lines of the Dockerfile's stages take from the checkout.
func copied(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "Dockerfile"))
	require.NoError(t, err)
	sources := map[string][]string{}
	stage := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 4 && words[0] == "FROM":
			stage = words[3]
		case len(words) > 2 && words[0] == "COPY" && !strings.HasPrefix(words[1], "--from="):
			sources[stage] = append(sources[stage], words[1:len(words)-1]...)
		}
	}
	require.Contains(t, sources, "web")
	require.Contains(t, sources, "build")
	return sources
}

// The binary is built in the image of what .dockerignore lets in: each of our packages that it
// links, with what they embed. A folder that is missing there fails no build but the image's.
func TestImageIsSentWhatTheBinaryIsBuiltOf(t *testing.T) {
	sent := sent(t)
	linked := dependencies(t, "cmd/mintlake")
	files, missing := 0, map[string]bool{}
	for _, p := range packages(t) {
		if !linked[p.ImportPath] {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			file := path.Join(p.folder(), name)
			files++
			// The pages are made in a stage of their own.
			if !strings.HasPrefix(file, "web/dist/") && !sent(file) {
				missing[path.Dir(file)] = true
			}
		}
	}
	require.Greater(t, files, 500)
	require.Empty(t, missing, ".dockerignore keeps files of these folders from the builder")
	for stage, sources := range copied(t) {
		for _, source := range sources {
			if source != "." {
				_, err := os.Stat(filepath.Join(testkit.Root(t), source))
				require.NoError(t, err, "COPY of the stage %s", stage)
				require.True(t, sent(source), ".dockerignore keeps %s from the stage %s", source, stage)
			}
		}
	}
}

// The explorer's stage has its folder, and of the rest of the checkout only what is copied by name.
func TestImageIsSentWhatTheExplorerReads(t *testing.T) {
	outside := regexp.MustCompile(`(?:\.\./)+(schemas/[\w./-]+|docs)\b`)
	read := map[string]string{}
	explorer := filepath.Join(testkit.Root(t), "web", "explorer")
	require.NoError(t, filepath.WalkDir(explorer, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range outside.FindAllStringSubmatch(string(text), -1) {
			read[match[1]] = strings.TrimPrefix(path, explorer+"/")
		}
		return err
	}))
	require.Contains(t, read, "schemas/openapi/openapi.yaml")
	require.Contains(t, read, "docs")
	sources := copied(t)["web"]
	for file, by := range read {
		require.Contains(t, sources, file, "%s of the explorer reads it, the Dockerfile's stage web has no COPY of it", by)
	}
}
