// Package architecture holds tests about the shape of the whole module.
package architecture

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

const module = "github.com/mintlake/mintlake/"

// rooms are the folders that must not import each other: they meet in Kafka, in ClickHouse and in
// the contracts.
var rooms = []string{"ingest", "enrich", "projector", "api", "gateway", "swap", "web", "demo", "bootstrap", "volume", "replica"}

// uses are the rooms that another one is made for: the API answers from the replica.
var uses = map[string]string{"api": "replica"}

// world is the test world: the demo is made of it, and tests are. No other code of the product
// uses it.
const world = "testworld"

// support is where the code lies that tests share.
const support = "internal/testkit"

// pure are the folders that every room may import and that import no plumbing.
var pure = []string{"schemas", "registry"}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = testkit.Root(t)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

func TestRoomsDoNotImportEachOther(t *testing.T) {
	for _, room := range rooms {
		deps := list(t, "-deps", "./"+room+"/...")
		require.NotEmpty(t, deps, room)
		for _, other := range append([]string{"cmd", "e2e"}, rooms...) {
			if other == room || other == uses[room] {
				continue
			}
			for _, dep := range deps {
				path := strings.TrimPrefix(dep, module)
				require.False(t, path == other || strings.HasPrefix(path, other+"/"), "%s imports %s", room, path)
			}
		}
	}
}

func TestContractsArePure(t *testing.T) {
	for _, folder := range pure {
		for _, dep := range list(t, "-deps", "./"+folder+"/...") {
			path, ours := strings.CutPrefix(dep, module)
			if ours {
				require.NotRegexp(t, `^internal/`, path, "%s imports %s", folder, path)
			}
			require.NotContains(t, []string{"net/http", "database/sql"}, dep, "%s imports %s", folder, dep)
		}
	}
}

// Plumbing knows no room, and one package alone imports the Kafka client.
func TestPlumbingKnowsNoRoom(t *testing.T) {
	var plumbing []string
	for _, path := range list(t, "./internal/...") {
		if !isIn(strings.TrimPrefix(path, module), support) {
			plumbing = append(plumbing, path)
		}
	}
	for _, dep := range list(t, append([]string{"-deps"}, plumbing...)...) {
		path, ours := strings.CutPrefix(dep, module)
		for _, room := range rooms {
			require.False(t, ours && (path == room || strings.HasPrefix(path, room+"/")), "internal imports %s", path)
		}
	}
	users := list(t, "-f", `{{range .Imports}}{{if eq . "github.com/segmentio/kafka-go"}}{{$.ImportPath}}{{end}}{{end}}`, "./...")
	for _, user := range users {
		require.Equal(t, module+"internal/kafka", user, "only internal/kafka speaks to Kafka")
	}
}

// imports are the packages of the module with what their code imports, tests apart.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, line := range list(t, "-f", `{{.ImportPath}},{{join .Imports ","}}`, "./...") {
		packages := strings.Split(strings.ReplaceAll(line, module, ""), ",")
		out[packages[0]] = packages[1:]
	}
	return out
}

func isIn(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") })
}

// The test world knows no room, so that the tests of each can use it. Of the product only the demo
// is made of it.
func TestTheTestWorldKnowsNoRoom(t *testing.T) {
	for _, dep := range list(t, "-deps", "./"+world+"/...") {
		path := strings.TrimPrefix(dep, module)
		require.False(t, isIn(path, append([]string{"cmd", "e2e", support}, rooms...)...), "%s imports %s", world, path)
	}
	users := map[string]bool{}
	for user, used := range imports(t) {
		if slices.ContainsFunc(used, func(path string) bool { return isIn(path, world) }) {
			require.True(t, isIn(user, world, "demo", support, "e2e", "tools"), "%s imports the test world", user)
			users[strings.Split(user, "/")[0]] = true
		}
	}
	require.True(t, users["demo"], "the demo is made of it")
}

// Code that only tests use lies in one place and not between the files of the product, which does
// not import it.
func TestSupportOfTestsIsInOnePlace(t *testing.T) {
	for path, used := range imports(t) {
		if isIn(path, support) {
			continue
		}
		require.NotRegexp(t, `test$`, path, "move it to %s", support)
		if isIn(path, "e2e", "tools") {
			continue
		}
		for _, other := range used {
			require.False(t, isIn(other, support, "testing", "github.com/stretchr/testify"), "%s imports %s", path, other)
		}
	}
}

// Every folder at the top has a place in the map of the design.
func TestEveryFolderIsARoom(t *testing.T) {
	known := append([]string{"proto", "schemas", "registry", "client", "clients", "cmd", "internal", "deploy", "docs", "e2e", "tools", "bench", "bin", world}, rooms...)
	entries, err := os.ReadDir(testkit.Root(t))
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			require.Contains(t, known, entry.Name(), "a new folder needs a place in docs/ARCHITECTURE.md and in this test")
		}
	}
}
