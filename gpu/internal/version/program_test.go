package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModuleVersion(t *testing.T) {
	vcs := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	for _, tc := range []struct {
		name  string
		info  debug.BuildInfo
		want  string
		exact bool
	}{
		{"a commit", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}, Settings: vcs("abc", "false")}, "v1.2.3 abc", true},
		{"changed since", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}, Settings: vcs("abc", "true")}, "(devel) abc", false},
		{"a test", debug.BuildInfo{Main: debug.Module{Path: modulePath}}, "", false},
		{"a library", debug.BuildInfo{Main: debug.Module{Path: "x"}, Deps: []*debug.Module{{Path: modulePath, Version: "v1.0.0", Sum: "h1:"}}}, "v1.0.0", true},
		{"a replaced library", debug.BuildInfo{Deps: []*debug.Module{{Path: modulePath, Version: "v1.0.0", Replace: &debug.Module{}}}}, "v1.0.0 replaced", false},
		{"of a workspace", debug.BuildInfo{Deps: []*debug.Module{{Path: modulePath, Version: "(devel)"}}}, "(devel)", false},
		{"something else", debug.BuildInfo{Main: debug.Module{Path: "x"}}, "unknown", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			version, exact := moduleVersion(&tc.info)
			require.Equal(t, tc.want, version)
			require.Equal(t, tc.exact, exact)
		})
	}
	require.NotEmpty(t, buildID())
	require.Contains(t, Program(), buildID(), "a test is of no version")
}
