package architecture

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mintlake/mintlake/internal/testkit"
)

var nolint = regexp.MustCompile(`^//\s*nolint\b(?::([\w,\s-]*))?`)

// A nolint comment that names a linter which does not run suppresses nothing and only distracts.
// nolintlint does not report such comments, so this test does.
func TestNolintNamesEnabledLinters(t *testing.T) {
	root := testkit.Root(t)
	enabled := enabledLinters(t, root)
	found := 0
	for _, file := range goFiles(t, root) {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		if !bytes.Contains(source, []byte("nolint")) {
			continue
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, source, parser.ParseComments)
		require.NoError(t, err)
		for _, group := range tree.Comments {
			for _, comment := range group.List {
				match := nolint.FindStringSubmatch(comment.Text)
				if match == nil {
					continue
				}
				found++
				at := files.Position(comment.Pos())
				if match[1] == "" {
					t.Errorf("%s: nolint names no linter: say which", at)
					continue
				}
				for _, linter := range strings.Split(match[1], ",") {
					if linter = strings.TrimSpace(linter); !enabled[linter] {
						t.Errorf("%s: nolint names %q, which .golangci.yml does not enable: remove it", at, linter)
					}
				}
			}
		}
	}
	require.Positive(t, found, "the test finds nolint comments")
}

func enabledLinters(t *testing.T, root string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	require.NoError(t, err)
	var config struct {
		Linters struct {
			Default string
			Enable  []string
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &config))
	require.Equal(t, "none", config.Linters.Default, "the test reads only the list of enabled linters")
	enabled := map[string]bool{}
	for _, linter := range config.Linters.Enable {
		enabled[linter] = true
	}
	require.True(t, enabled["errcheck"])
	return enabled
}

// goFiles are the paths of all Go files of the repository, those of the nested modules among them.
func goFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// third_party is the code of others.
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || entry.Name() == "third_party") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}
