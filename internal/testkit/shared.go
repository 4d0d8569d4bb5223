// Package testkit has helpers for the tests of several rooms.
//
// In: a path in the folder of recorded mainnet data, which is beside the repository.
// Out: its absolute path, or a skipped (or failed) test.
// Guarantees: with MINTLAKE_REQUIRE_SHARED=1 a missing file fails the test, so CI can never pass by
// skipping.
package testkit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the absolute path of rel in the shared data folder, which is beside the repository
// (`../shared` from the module's root). If it is missing the test is skipped, or fails with
// MINTLAKE_REQUIRE_SHARED=1.
func Shared(t testing.TB, rel string) string {
	t.Helper()
	path := filepath.Join(Root(t), "..", "shared", filepath.FromSlash(rel))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("MINTLAKE_REQUIRE_SHARED") == "1" {
			t.Fatalf("shared data %s is required (MINTLAKE_REQUIRE_SHARED=1): %v", rel, err)
		}
		t.Skipf("shared data %s is not here: put the shared folder beside the repository to run this test", rel)
	}
	return path
}

// SharedLines returns the values of a file of the shared data folder, which has a JSON value on
// each line. A line has a megabyte at most. A missing file is treated as by Shared.
func SharedLines[T any](t testing.TB, rel string) (list []T) {
	t.Helper()
	file, err := os.Open(Shared(t, rel))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var value T
		if err := json.Unmarshal(lines.Bytes(), &value); err != nil {
			t.Fatalf("%s: line %d: %v", rel, len(list)+1, err)
		}
		list = append(list, value)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", rel, err)
	}
	return list
}

// Root returns the module's root: the first folder with a go.mod, from the working directory
// upwards.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("find module root: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("find module root: no go.mod in any parent folder")
		}
		dir = parent
	}
}
