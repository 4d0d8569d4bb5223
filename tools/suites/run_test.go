package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/tools/suites/table"
)

func TestEachSuiteHasItsOwnVerdict(t *testing.T) {
	dir := t.TempDir()
	makefile := filepath.Join(dir, "Makefile")
	require.NoError(t, os.WriteFile(makefile, []byte("good:\n\t@echo \"$(TEXT)\"\nbad:\n\t@echo broken; exit 1\n"), 0o600))
	k := &verdicts{Commit: "abc", Verdicts: map[string]verdict{}}
	r := &runner{needs: map[string]string{"moon": "echo no rocket >&2; false"}, folder: dir, quiet: true}
	var now []verdict
	for _, s := range []table.Suite{
		{Name: "bad", Make: "-f " + makefile + " bad"},
		{Name: "good", Make: "-f " + makefile + " good TEXT='two words'"},
		{Name: "far", Needs: []string{"moon"}, Make: "-f " + makefile + " good"},
	} {
		v := r.run(t.Context(), s)
		now = append(now, v)
		k.Verdicts[s.Name] = v
	}
	require.Equal(t, failed, k.Verdicts["bad"].Verdict)
	require.Equal(t, passed, k.Verdicts["good"].Verdict)
	require.Equal(t, notRun, k.Verdicts["far"].Verdict)
	require.Equal(t, "needs moon: no rocket", k.Verdicts["far"].Reason)
	said, err := os.ReadFile(k.Verdicts["good"].Log)
	require.NoError(t, err)
	require.Equal(t, "two words\n", string(said))

	var out bytes.Buffer
	require.EqualError(t, sum(&out, now, false), "failed: bad")
	require.EqualError(t, sum(&out, now, true), "failed: bad, far")
	require.NoError(t, sum(&out, now[1:], false))
	require.Regexp(t, `2 suites in \d+ s; the slowest: good, \d+ s\n$`, out.String())
	k.print(&out, []table.Suite{{Name: "bad"}, {Name: "new"}})
	require.Regexp(t, `bad +failed .*\nnew +not run +not asked for at this commit\n`, out.String())
}

func TestChoose(t *testing.T) {
	all := &table.Table{Suites: []table.Suite{{Name: "a", In: []string{"test", "all"}}, {Name: "b", In: []string{"all"}}}}
	for name, test := range map[string]struct {
		args       []string
		only, want string
	}{
		"test":          {[]string{"test"}, "", "a"},
		"all":           {[]string{"all"}, "", "ab"},
		"only":          {[]string{"all"}, "b", "b"},
		"not in it":     {[]string{"test"}, "b", ""},
		"run":           {[]string{"run", "b"}, "", "b"},
		"several":       {[]string{"all"}, "b, a", "ab"},
		"another order": {[]string{"all"}, "a,b", "ab"},
	} {
		chosen, err := choose(all, test.args, test.only)
		require.NoError(t, err, name)
		got := ""
		for _, s := range chosen {
			got += s.Name
		}
		require.Equal(t, test.want, got, name)
	}
	_, err := choose(all, []string{"all"}, "a,nothing")
	require.ErrorContains(t, err, "there is no suite nothing")
	_, err = choose(all, []string{"some"}, "")
	require.ErrorContains(t, err, "usage")
}
