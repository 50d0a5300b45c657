#include "controller/program_files.h"

#include <gmock/gmock.h>

#include "controller/setup_testing.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ImportedModules, CaseH9_AreReadFromTheLines) {
  EXPECT_THAT(imported_modules("import os, model as m  # the model\nx = 1\n"),
              ElementsAre("os", "model"));
  EXPECT_THAT(imported_modules("from net.layers import Conv, pool as p\n"),
              ElementsAre("net.layers", "net.layers.Conv", "net.layers.pool"));
  EXPECT_THAT(imported_modules("if fast:\n    from . import a\n    from ..b import *; c()\n"),
              ElementsAre(".", ".a", "..b"));
  EXPECT_THAT(imported_modules("from a import (\n    b,  # first\n    c,\n)\nimport d\n"),
              ElementsAre("a", "a.b", "a.c", "d"));
  EXPECT_THAT(imported_modules("import a, \\\n  b\n"), ElementsAre("a", "b"));
  EXPECT_THAT(imported_modules("important = 1\nfrom_here = 2\n# import x\nfrom (\n"), IsEmpty());
  EXPECT_THAT(imported_modules("from a import ("), ElementsAre("a"));
}

class Program : public ::testing::Test {
 protected:
  std::vector<std::string> look(const std::string& program) {
    std::vector<std::string> names;
    last_ = files_.look(folder_.path(program), folder_.path());
    for (const ProgramFiles::File& file : last_) {
      names.push_back(file.path.substr(folder_.path().size() + 1));
    }
    return names;
  }

  TemporaryFolder folder_;
  ProgramFiles files_;
  std::vector<ProgramFiles::File> last_;
};

TEST_F(Program, CaseH9_GoesThroughWhatLiesBesideIt) {
  folder_.write("train.py", "import os, model\nfrom net import layers\n");
  folder_.write("model.py", "import util, train\n");
  folder_.write("util.py", "");
  folder_.write("unused.py", "");
  folder_.write("net/__init__.py", "from .base import Base\n");
  folder_.write("net/base.py", "");
  folder_.write("net/layers.py", "from ..util import x\n");
  EXPECT_THAT(look("train.py"), ElementsAre("train.py", "model.py", "net/__init__.py",
                                            "net/layers.py", "util.py", "net/base.py"));
}

TEST_F(Program, CaseH9_AnImportedModulesContentChangesTheHash) {
  folder_.write("train.py", "import model\n");
  folder_.write("model.py", "v = 1\n");
  look("train.py");
  const std::string first = ProgramFiles::together(last_);
  folder_.write("model.py", "version = 2\n");
  look("train.py");
  EXPECT_NE(ProgramFiles::together(last_), first);
  folder_.write("model.py", "v = 1\n");
  look("train.py");
  EXPECT_EQ(ProgramFiles::together(last_), first);
}

TEST_F(Program, AnotherProgramIsItselfAlone) {
  folder_.write("train.sh", "import model\n");
  folder_.write("model.py", "");
  EXPECT_THAT(look("train.sh"), ElementsAre("train.sh"));
  EXPECT_EQ(ProgramFiles::together(last_), FileHashes().hash(folder_.path("train.sh")));
  EXPECT_THAT(look("missing.py"), ElementsAre("missing.py"));
}

}  // namespace
}  // namespace seedbed
