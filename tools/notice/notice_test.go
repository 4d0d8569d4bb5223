package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestNoticeIsUpToDate fails when a module is added, updated or taken away without NOTICE.
func TestNoticeIsUpToDate(t *testing.T) {
	root := testkit.Root(t)
	want, err := generate(root)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run make notice")

	// What a scanner asks first: the repository of the Geyser interface is under the AGPL by
	// default, its protocol files are not.
	require.Regexp(t, `yellowstone-grpc/examples/golang \S+: Apache-2.0\n`, string(got))
	require.NotContains(t, string(got), "GNU AFFERO GENERAL PUBLIC LICENSE")
}

func moduleWith(t *testing.T, path, version string, files map[string]string) *module {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return &module{Path: path, Version: version, Dir: dir, packages: map[string]bool{dir: true}}
}

func TestModulesThatMayNotBeLinked(t *testing.T) {
	const mit = "Permission is hereby granted, free of charge, to any person. The above copyright notice and\nthis permission notice shall be included."
	for name, c := range map[string]struct {
		path, version string
		files         map[string]string
		want          string
	}{
		"MIT":                    {path: "example.org/a", files: map[string]string{"LICENSE": mit}},
		"AGPL":                   {path: "example.org/a", files: map[string]string{"COPYING": "GNU Affero General Public License\nVersion 3"}, want: "may not be linked"},
		"MIT and GPL":            {path: "example.org/a", files: map[string]string{"LICENSE": mit, "COPYING": "GNU General Public License, Free Software Foundation"}, want: "may not be linked"},
		"a licence nobody knows": {path: "example.org/a", files: map[string]string{"LICENSE": "All rights reserved."}, want: "unknown"},
		"none":                   {path: "example.org/a", files: map[string]string{"NOTICE": "Made by us."}, want: "holds no licence"},
		"a newer exception": {
			path: "github.com/gagliardetto/treeout", version: "v9.9.9", files: nil, want: "look at its licence again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc := &document{texts: map[string][]string{}}
			err := doc.addModule(moduleWith(t, c.path, c.version, c.files))
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(doc.modules.String(), ": MIT\n"), doc.modules.String())
		})
	}
}
