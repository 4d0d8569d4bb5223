// Package architecture holds tests about the shape of the whole module.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

const module = "github.com/mintlake/mintlake/"

// rooms are the folders that must not import each other: they meet in Kafka, in ClickHouse and in
// the contracts.
var rooms = []string{"ingest", "enrich", "projector", "api", "gateway", "swap", "web", "demo", "bootstrap", "volume", "replica", "holders"}

// uses are the rooms that another one is made for: the API answers from the replica.
var uses = map[string]string{"api": "replica"}

// shared are the folders between rooms and plumbing: what the three products have in common. Rooms
// may import them, and they know no room.
var shared = []string{"access", "solana", "logos", "embedded"}

// operate is what operators do with a node and its data. It may import every room; only cmd imports
// it.
const operate = "operate"

// world is the test world: the demo is made of it, and tests are. No other code of the product
// uses it.
const world = "testworld"

// support is where the code lies that tests share.
const support = "internal/testkit"

// pure are the folders that every room may import and that import no plumbing.
var pure = []string{"schemas", "registry"}

// listed is what go list says of a package. Imports and Deps, which are the imports of imports too,
// are those of its code without tests.
type listed struct {
	ImportPath                string
	GoFiles, EmbedFiles       []string
	Imports, Deps             []string
	TestImports, XTestImports []string
}

func (p *listed) folder() string { return strings.TrimPrefix(p.ImportPath, module) }

// listPackages lists the packages of the module. go list takes seconds, so it runs once for all
// tests.
var listPackages = sync.OnceValues(func() ([]*listed, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,EmbedFiles,Imports,Deps,TestImports,XTestImports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var packages []*listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		switch err := decoder.Decode(p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		packages = append(packages, p)
	}
})

func packages(t *testing.T) []*listed {
	t.Helper()
	out, err := listPackages()
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}

// dependencies are the packages in the folders and below, and all that these import.
func dependencies(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, p := range packages(t) {
		if isIn(p.folder(), folders...) {
			out[p.ImportPath] = true
			for _, dep := range p.Deps {
				out[dep] = true
			}
		}
	}
	require.NotEmpty(t, out, folders)
	return out
}

func TestRoomsDoNotImportEachOther(t *testing.T) {
	for _, room := range rooms {
		deps := dependencies(t, room)
		for _, other := range append([]string{"cmd", "e2e", operate}, rooms...) {
			if other == room || other == uses[room] {
				continue
			}
			for dep := range deps {
				path := strings.TrimPrefix(dep, module)
				require.False(t, isIn(path, other), "%s imports %s", room, path)
			}
		}
	}
}

func TestContractsArePure(t *testing.T) {
	for _, folder := range pure {
		for dep := range dependencies(t, folder) {
			path, ours := strings.CutPrefix(dep, module)
			if ours {
				require.False(t, isIn(path, append([]string{"internal"}, shared...)...), "%s imports %s", folder, path)
			}
			require.NotContains(t, []string{"net/http", "database/sql"}, dep, "%s imports %s", folder, dep)
		}
	}
}

// Plumbing and what rooms share know no room, and one package alone imports the Kafka client.
func TestPlumbingKnowsNoRoom(t *testing.T) {
	plumbing := 0
	for _, p := range packages(t) {
		if slices.Contains(p.Imports, "github.com/segmentio/kafka-go") {
			require.Equal(t, "internal/kafka", p.folder(), "only internal/kafka speaks to Kafka")
		}
		if !isIn(p.folder(), append([]string{"internal"}, shared...)...) || isIn(p.folder(), support) {
			continue
		}
		plumbing++
		for _, dep := range p.Deps {
			path, ours := strings.CutPrefix(dep, module)
			require.False(t, ours && isIn(path, append([]string{operate}, rooms...)...), "%s imports %s", p.folder(), path)
		}
	}
	require.Positive(t, plumbing)
}

// domain are words of what Mintlake is about. A package that carries one is no plumbing.
var domain = regexp.MustCompile(`token|mint|chain|solana|slot|block|account|swap|pool|quote|venue|enrich|logo|image|picture|key|usage|registry|yellowstone|geyser`)

// TestPlumbingHasNoWordOfTheDomain: what has one belongs to a room, or to what rooms share.
func TestPlumbingHasNoWordOfTheDomain(t *testing.T) {
	for _, p := range packages(t) {
		path, plumbing := strings.CutPrefix(p.folder(), "internal/")
		if plumbing && !isIn(p.folder(), support) {
			require.NotRegexp(t, domain, path, "move it into a room, or into one of %v", shared)
			for _, dep := range p.Deps {
				require.False(t, isIn(strings.TrimPrefix(dep, module), shared...), "%s imports %s", p.folder(), dep)
			}
		}
	}
}

func isIn(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") })
}

// The test world knows no room, so that the tests of each can use it. Of the product only the demo
// is made of it.
func TestTheTestWorldKnowsNoRoom(t *testing.T) {
	for dep := range dependencies(t, world) {
		path := strings.TrimPrefix(dep, module)
		require.False(t, isIn(path, append([]string{"cmd", "e2e", operate, support}, rooms...)...), "%s imports %s", world, path)
	}
	users := map[string]bool{}
	for _, p := range packages(t) {
		user := p.folder()
		if slices.ContainsFunc(p.Imports, func(path string) bool { return isIn(path, module+world) }) {
			require.True(t, isIn(user, world, "demo", support, "e2e", "tools"), "%s imports the test world", user)
			users[strings.Split(user, "/")[0]] = true
		}
	}
	require.True(t, users["demo"], "the demo is made of it")
}

// Code that only tests use lies in one place and not between the files of the product, which does
// not import it.
func TestSupportOfTestsIsInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		path := p.folder()
		if isIn(path, support) {
			continue
		}
		require.NotRegexp(t, `test$`, path, "move it to %s", support)
		if isIn(path, "e2e", "tools") {
			continue
		}
		for _, other := range p.Imports {
			require.False(t, isIn(other, module+support, "testing", "github.com/stretchr/testify"), "%s imports %s", path, other)
		}
	}
}

// Every folder at the top has a place in the map of the design.
func TestEveryFolderIsARoom(t *testing.T) {
	known := append([]string{"proto", "schemas", "registry", "client", "clients", "cmd", "internal", "deploy", "docs", "e2e", "tools", "bench", "third_party", "bin", "dist", world, operate}, append(shared, rooms...)...)
	entries, err := os.ReadDir(testkit.Root(t))
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			require.Contains(t, known, entry.Name(), "a new folder needs a place in docs/ARCHITECTURE.md and in this test")
		}
	}
}
