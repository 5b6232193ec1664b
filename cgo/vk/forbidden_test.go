package vk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const bindingPath = "github.com/vulkan-go/vulkan"

// forbidden lists functions of the binding that hand the driver C arrays which a finalizer may free
// meanwhile (slices of structures), or that store Go pointers in C memory (lists of strings, nested slices).
var forbidden = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`
		QueueSubmit QueueBindSparse CreateComputePipelines CreateGraphicsPipelines UpdateDescriptorSets
		FlushMappedMemoryRanges InvalidateMappedMemoryRanges
		CmdPipelineBarrier CmdWaitEvents CmdCopyBuffer CmdCopyImage CmdBlitImage CmdCopyBufferToImage
		CmdCopyImageToBuffer CmdClearColorImage CmdClearDepthStencilImage CmdClearAttachments CmdResolveImage
		CmdSetViewport CmdSetScissor CmdExecuteCommands
		CreateInstance CreateDevice CreateRenderPass CreateDescriptorSetLayout CreateDescriptorPool
		CreatePipelineLayout AllocateDescriptorSets
		GetPhysicalDeviceQueueFamilyProperties EnumerateInstanceExtensionProperties
		EnumerateInstanceLayerProperties EnumerateDeviceExtensionProperties EnumerateDeviceLayerProperties
		GetPhysicalDeviceSparseImageFormatProperties GetImageSparseMemoryRequirements SurfaceFromPointer`) {
		forbidden[name] = true
	}
}

// TestForbiddenCalls looks for such calls in the whole project.
func TestForbiddenCalls(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	files, users := 0, 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "build") {
			return filepath.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // someone is at it; the compiler will say so
		}
		name := importName(f)
		if name == "" {
			return nil
		}
		users++
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && forbidden[sel.Sel.Name] {
				t.Errorf("%s: %s.%s must not be called", set.Position(n.Pos()), name, sel.Sel.Name)
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 50, "the project was not found")
	require.Positive(t, users, "the binding is used somewhere")
}

// importName is the name under which f imports the binding, "" if it does not.
func importName(f *ast.File) string {
	for _, imp := range f.Imports {
		if strings.Trim(imp.Path.Value, `"`) != bindingPath {
			continue
		}
		if imp.Name != nil {
			return imp.Name.Name
		}
		return "vulkan"
	}
	return ""
}
