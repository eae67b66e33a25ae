/* SPDX-License-Identifier: Apache-2.0 */
/* run/language.c - the table of languages.
 *
 * Runtimes that size themselves by the machine are told what they have: by the time one of them
 * asks for more than its group allows, it is killed instead of collecting its garbage. */
#include "run/language.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "box/limits.h"
#include "run/java_source.h"

/* TypeScript's own compiler, called through its library: `tsc` refuses a program that uses what
 * Node has when Node's type declarations are not installed, which is no fault of the program.
 * Everything else that tsc would report is reported, and fails the step. */
static const char typescript_compile[] =
    "const fs = require('fs'), path = require('path');\n"
    "const [file, out] = process.argv.slice(1), dir = path.dirname(file);\n"
    "const tsc = process.env.PATH.split(':').map(d => d + '/tsc').find(p => fs.existsSync(p));\n"
    "const home = path.join(path.dirname(fs.realpathSync(tsc)), '..');\n"
    "const ts = require(path.join(home, 'lib/typescript.js'));\n"
    "const roots = [path.join(dir, 'node_modules/@types'), path.join(home, '../@types')];\n"
    "const typeRoots = roots.filter(r => fs.existsSync(path.join(r, 'node')));\n"
    "const types = typeRoots.length ? ['node'] : [];\n"
    "const program = ts.createProgram([file], { outDir: out, rootDir: dir, typeRoots, types,\n"
    "  target: ts.ScriptTarget.ES2020, module: ts.ModuleKind.CommonJS, esModuleInterop: true,\n"
    "  moduleResolution: ts.ModuleResolutionKind.NodeJs, skipLibCheck: true });\n"
    "const known = n => n in globalThis || ['__dirname', '__filename', 'NodeJS'].includes(n);\n"
    "const missing = d => [2307, 2580, 2591, 7016].includes(d.code) ||\n"
    "  [2304, 2503].includes(d.code) && known(/'(.*?)'/.exec(d.messageText)[1]);\n"
    "const bad = ts.getPreEmitDiagnostics(program).filter(d => types.length || !missing(d));\n"
    "program.emit();\n"
    "process.stderr.write(ts.formatDiagnostics(bad, { getCanonicalFileName: f => f,\n"
    "  getCurrentDirectory: () => dir, getNewLine: () => '\\n' }));\n"
    "process.exitCode = bad.length ? 1 : 0;\n";

/* Lua's compiler may be another version than its interpreter, so that one reads the file itself. */
static const char lua_check[] = "local chunk, why = loadfile(arg[0])\n"
                                "if not chunk then io.stderr:write(why, '\\n') end\n"
                                "os.exit(chunk and 0 or 1)";

#define STRS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE      ((const char *const[]){ NULL })

#define NODE "node", "--max-old-space-size={heap_mib}"

/* No file below /tmp for jps; as many threads as CPUs; the heap a part of what there is. */
#define JVM(prefix)                                                      \
    prefix "-XX:-UsePerfData", prefix "-XX:ActiveProcessorCount={cpus}", \
        prefix "-XX:MaxRAM={memory}", prefix "-XX:MaxRAMPercentage=60"

static language_namer name_javascript;
static language_namer name_java;

static const struct language languages[] = {
    {
        .name = "python",
        .aliases = STRS("py", "python3"),
        .endings = STRS("py", "pyw"),
        .shebangs = STRS("python", "pypy"),
        .file = "main.py",
        .run = STRS("python3", "{file}"),
        .program = "python3",
        .package = "python3",
    },
    {
        .name = "javascript",
        .aliases = STRS("js", "node", "nodejs"),
        .endings = STRS("js", "mjs", "cjs"),
        .shebangs = STRS("node", "nodejs"),
        .file = "main.js",
        .namer = name_javascript,
        .check = STRS(NODE, "--check", "{file}"),
        .run = STRS(NODE, "{file}"),
        .program = "node",
        .package = "nodejs",
        .wants_groups = true,
        .default_pids = 12,
    },
    {
        .name = "typescript",
        .aliases = STRS("ts"),
        .endings = STRS("ts"),
        .shebangs = STRS("ts-node", "tsx"),
        .file = "main.ts",
        .compile = STRS(NODE, "-e", typescript_compile, "--", "{file}", "{out}"),
        .run = STRS(NODE, "{out}/{stem}.js"),
        .env = STRS("NODE_PATH={dir}/node_modules"),
        .program = "tsc",
        .package = "node-typescript",
        .needs_ending = true,
        .wants_groups = true,
        .default_pids = 12,
    },
    {
        .name = "bash",
        .aliases = NONE,
        .endings = STRS("bash"),
        .shebangs = STRS("bash"),
        .file = "main.bash",
        .check = STRS("bash", "-O", "extglob", "-n", "{file}"), /* what a script may turn on */
        .run = STRS("bash", "{file}"),
        .program = "bash",
        .package = "bash",
    },
    {
        .name = "sh",
        .aliases = STRS("shell"),
        .endings = STRS("sh"),
        .shebangs = STRS("sh", "dash", "ash"),
        .file = "main.sh",
        .check = STRS("sh", "-n", "{file}"),
        .run = STRS("sh", "{file}"),
        .program = "sh",
        .package = "dash",
    },
    {
        .name = "c",
        .aliases = NONE,
        .endings = STRS("c"),
        .shebangs = NONE,
        .file = "main.c",
        .compile = STRS("gcc", "-x", "c", "-O2", "-pthread", "-o", "{out}", "{file}", "-lm"),
        .run = STRS("{out}"),
        .program = "gcc",
        .package = "gcc libc6-dev",
    },
    {
        .name = "cpp",
        .aliases = STRS("c++", "cxx", "cplusplus"),
        .endings = STRS("cpp", "cc", "cxx", "c++"),
        .shebangs = NONE,
        .file = "main.cpp",
        .compile = STRS("g++", "-x", "c++", "-O2", "-pthread", "-o", "{out}", "{file}", "-lm"),
        .run = STRS("{out}"),
        .program = "g++",
        .package = "g++",
    },
    {
        .name = "go",
        .aliases = STRS("golang"),
        .endings = STRS("go"),
        .shebangs = NONE,
        .file = "main.go",
        .compile = STRS("go", "build", "-o", "{out}", "{file}"),
        .run = STRS("{out}"),
        .env = STRS("GOMAXPROCS={cpus}", "GOMEMLIMIT={heap_mib}MiB", "GOTOOLCHAIN=local",
                    "GOFLAGS=-buildvcs=false"),
        .program = "go",
        .package = "golang-go",
        .needs_ending = true,
        .wants_groups = true,
        .default_pids = 16,
    },
    {
        .name = "rust",
        .aliases = STRS("rs"),
        .endings = STRS("rs"),
        .shebangs = NONE,
        .file = "main.rs",
        .compile =
            STRS("rustc", "-O", "--edition=2021", "--crate-name=main", "-o", "{out}", "{file}"),
        .run = STRS("{out}"),
        .program = "rustc",
        .package = "rustc gcc",
        .default_pids = 12,
    },
    {
        .name = "java",
        .aliases = NONE,
        .endings = STRS("java"),
        .shebangs = NONE,
        .file = "Main.java",
        .namer = name_java,
        .compile = STRS("javac", JVM("-J"), "-J-XX:TieredStopAtLevel=1", "-cp", "{dir}", "-d",
                        "{out}", "{file}"),
        .run = STRS("java", JVM(""), "-cp", "{out}:{dir}", "{main}"),
        .program = "javac",
        .package = "default-jdk-headless",
        .needs_ending = true,
        .needs_name = true,
        .wants_groups = true,
        .default_pids = 24,
    },
    {
        .name = "ruby",
        .aliases = STRS("rb"),
        .endings = STRS("rb"),
        .shebangs = STRS("ruby"),
        .file = "main.rb",
        .check = STRS("ruby", "-c", "{file}"),
        .run = STRS("ruby", "{file}"),
        .program = "ruby",
        .package = "ruby",
    },
    {
        .name = "perl",
        .aliases = STRS("pl"),
        .endings = STRS("pl"),
        .shebangs = STRS("perl"),
        .file = "main.pl",
        /* No check: `perl -c` runs BEGIN blocks, which may end it for reasons of their own. */
        .run = STRS("perl", "{file}"),
        .program = "perl",
        .package = "perl",
    },
    {
        .name = "php",
        .aliases = NONE,
        .endings = STRS("php"),
        .shebangs = STRS("php"),
        .file = "main.php",
        .check = STRS("php", "-l", "{file}"),
        .run = STRS("php", "{file}"),
        .program = "php",
        .package = "php-cli",
    },
    {
        .name = "lua",
        .aliases = NONE,
        .endings = STRS("lua"),
        .shebangs = STRS("lua"),
        .file = "main.lua",
        .check = STRS("lua", "-e", lua_check, "{file}"),
        .run = STRS("lua", "{file}"),
        .program = "lua",
        .package = "lua5.4",
    },
    {
        .name = "r",
        .aliases = STRS("rscript"),
        .endings = STRS("r"),
        .shebangs = STRS("Rscript"),
        .file = "main.R",
        .run = STRS("Rscript", "{file}"),
        .program = "Rscript",
        .package = "r-base-core",
    },
};

/* ---- finding -------------------------------------------------------------------------------- */

const struct language *language_at(size_t n)
{
    return n < N_ELEMENTS(languages) ? &languages[n] : NULL;
}

static bool list_has(const char *const *list, const char *text, size_t len)
{
    for (; *list; list++)
        if (strlen(*list) == len && strncasecmp(*list, text, len) == 0)
            return true;
    return false;
}

const struct language *language_by_name(const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(languages); i++)
        if (strcasecmp(languages[i].name, name) == 0 ||
            list_has(languages[i].aliases, name, strlen(name)))
            return &languages[i];
    return NULL;
}

const struct language *language_by_path(const char *path)
{
    const char *ending = path_ending(path);

    for (size_t i = 0; i < N_ELEMENTS(languages); i++)
        if (list_has(languages[i].endings, ending, strlen(ending)))
            return &languages[i];
    return NULL;
}

struct word {
    const char *text;
    size_t len;
};

/* The next word of a line; its end is moved behind it. */
static struct word next_word(const char **at, const char *end)
{
    struct word word;

    while (*at < end && isblank((unsigned char)**at))
        ++*at;
    word.text = *at;
    while (*at < end && !isspace((unsigned char)**at))
        ++*at;
    word.len = (size_t)(*at - word.text);
    return word;
}

/* The program's name: no directory, and "python" for "python3.11". */
static struct word program_of(struct word word)
{
    const char *slash = memrchr(word.text, '/', word.len);

    if (slash) {
        word.len -= (size_t)(slash + 1 - word.text);
        word.text = slash + 1;
    }
    while (word.len > 0 &&
           (isdigit((unsigned char)word.text[word.len - 1]) || word.text[word.len - 1] == '.'))
        word.len--;
    return word;
}

const struct language *language_by_shebang(const void *code, size_t len)
{
    const char *at = code;
    const char *newline = len > 0 ? memchr(at, '\n', len) : NULL;
    const char *end = newline ? newline : at + len;
    struct word word;

    if (end - at < 2 || at[0] != '#' || at[1] != '!')
        return NULL;
    at += 2;
    word = program_of(next_word(&at, end));
    if (word.len == 3 && memcmp(word.text, "env", 3) == 0) {
        /* env's options and assignments stand before the program. */
        do
            word = next_word(&at, end);
        while (word.len > 0 && (word.text[0] == '-' || memchr(word.text, '=', word.len)));
        word = program_of(word);
    }
    for (size_t i = 0; i < N_ELEMENTS(languages); i++)
        if (list_has(languages[i].shebangs, word.text, word.len))
            return &languages[i];
    return NULL;
}

/* ---- naming --------------------------------------------------------------------------------- */

static bool line_starts(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len > n && memcmp(line, word, n) == 0 && strchr(" {*'\"", line[n]);
}

/* A file with `import` or `export` statements is a module, which Node knows by its ending. */
static void name_javascript(const void *code, size_t len, char name[static NAME_MAX + 1])
{
    const char *line = code;
    const char *end = line + len;

    if (len == 0 || memmem(code, len, "require(", strlen("require(")))
        return;
    while (line < end) {
        size_t left = (size_t)(end - line);
        const char *newline = memchr(line, '\n', left);

        if (line_starts(line, left, "import") || line_starts(line, left, "export")) {
            (void)snprintf(name, NAME_MAX + 1, "main.mjs");
            return;
        }
        line = newline ? newline + 1 : end;
    }
}

static void name_java(const void *code, size_t len, char name[static NAME_MAX + 1])
{
    struct java_source source;

    java_source_read(code, len, &source);
    if (source.file_class[0])
        (void)snprintf(name, NAME_MAX + 1, "%s.java", source.file_class);
}

void language_file_name(const struct language *language, const void *code, size_t len,
                        char name[static NAME_MAX + 1])
{
    (void)snprintf(name, NAME_MAX + 1, "%s", language->file);
    if (language->namer)
        language->namer(code, len, name);
}

/* ---- steps ---------------------------------------------------------------------------------- */

struct value {
    const char *name; /* with its braces */
    char text[PATH_MAX + 1];
};

enum {
    VALUE_FILE,
    VALUE_DIR,
    VALUE_STEM,
    VALUE_OUT,
    VALUE_MAIN,
    VALUE_MEMORY,
    VALUE_HEAP_MIB,
    VALUE_CPUS,
    N_VALUES,
};

static void set_numbers(struct value values[static N_VALUES], const struct limits *limits)
{
    uint64_t heap = limits->memory_bytes / 4 * 3 >> 20;

    (void)snprintf(values[VALUE_MEMORY].text, sizeof(values[0].text), "%" PRIu64,
                   limits->memory_bytes);
    (void)snprintf(values[VALUE_HEAP_MIB].text, sizeof(values[0].text), "%" PRIu64,
                   heap > 0 ? heap : 1);
    (void)snprintf(values[VALUE_CPUS].text, sizeof(values[0].text), "%" PRIu64,
                   (limits->cpu_milli + 999) / 1000);
}

static void set_names(struct value values[static N_VALUES], const struct language_source *source)
{
    const char *base = path_base(source->path);
    const char *ending = path_ending(source->path);
    int stem = (int)(strlen(base) - (*ending ? strlen(ending) + 1 : 0));
    int dir = (int)(base - source->path - (base - source->path > 1));
    struct java_source java = { 0 };

    (void)snprintf(values[VALUE_FILE].text, sizeof(values[0].text), "%s", source->path);
    (void)snprintf(values[VALUE_DIR].text, sizeof(values[0].text), "%.*s", dir, source->path);
    (void)snprintf(values[VALUE_STEM].text, sizeof(values[0].text), "%.*s", stem, base);
    (void)snprintf(values[VALUE_OUT].text, sizeof(values[0].text), "%s", source->out);
    if (source->code)
        java_source_read(source->code, source->len, &java);
    (void)snprintf(values[VALUE_MAIN].text, sizeof(values[0].text), "%s",
                   java.main_class[0] ? java.main_class : values[VALUE_STEM].text);
}

/* The template with its placeholders replaced; a heap string, or NULL. */
static char *expand(const char *at, const struct value values[static N_VALUES])
{
    struct buf text = BUF_INIT(65536);

    while (*at) {
        size_t i = 0;

        while (i < N_VALUES && strncmp(at, values[i].name, strlen(values[i].name)) != 0)
            i++;
        if (i < N_VALUES) {
            (void)buf_puts(&text, values[i].text);
            at += strlen(values[i].name);
        } else {
            (void)buf_putc(&text, *at++);
        }
    }
    return buf_take(&text);
}

/* Expands a list into room for `most` strings and a NULL. */
static int expand_all(const char *const *list, const struct value values[static N_VALUES],
                      char **ret, size_t most, struct gb_err *err)
{
    size_t n = 0;

    for (; list && list[n]; n++) {
        if (n == most)
            return gb_fail(err, -E2BIG, GB_BLAME_BUG, "a language has more than %zu words", most);
        ret[n] = expand(list[n], values);
        if (!ret[n])
            return gb_fail(err, -ENOMEM, GB_BLAME_HOST, "no memory for a command");
    }
    return 0;
}

static int make_step(const struct language *language, const char *name, const char *const *argv,
                     const struct value values[static N_VALUES], struct language_step *step,
                     struct gb_err *err)
{
    int r;

    step->name = name;
    r = expand_all(argv, values, step->argv, LANGUAGE_ARGS_MAX, err);
    if (r < 0)
        return r;
    return expand_all(language->env, values, step->env, LANGUAGE_ENV_MAX, err);
}

static int check_source(const struct language *language, const struct language_source *source,
                        struct gb_err *err)
{
    const char *ending = path_ending(source->path);

    if (!path_is_clean_absolute(source->path) || !path_is_clean_absolute(source->out))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER, "'%s' is not a clean absolute path",
                       path_is_clean_absolute(source->path) ? source->out : source->path);
    if (language->needs_ending && !list_has(language->endings, ending, strlen(ending)))
        return gb_fail(err, -EINVAL, GB_BLAME_CALLER,
                       "a %s program must be in a file that ends in .%s, not '%s'", language->name,
                       language->endings[0], path_base(source->path));
    return 0;
}

static int set_values(const struct language *language, const struct language_source *source,
                      const struct limits *limits, struct value values[static N_VALUES],
                      struct gb_err *err)
{
    static const char *const names[N_VALUES] = {
        [VALUE_FILE] = "{file}", [VALUE_DIR] = "{dir}",           [VALUE_STEM] = "{stem}",
        [VALUE_OUT] = "{out}",   [VALUE_MAIN] = "{main}",         [VALUE_MEMORY] = "{memory}",
        [VALUE_CPUS] = "{cpus}", [VALUE_HEAP_MIB] = "{heap_mib}",
    };
    int r = check_source(language, source, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < N_VALUES; i++)
        values[i].name = names[i];
    set_numbers(values, limits);
    set_names(values, source);
    return 0;
}

int language_steps(const struct language *language, const struct language_source *source,
                   const struct limits *limits, struct language_step steps[static 2], size_t *ret_n,
                   struct gb_err *err)
{
    struct value values[N_VALUES];
    size_t n = 0;
    int r;

    memset(steps, 0, 2 * sizeof(*steps));
    r = set_values(language, source, limits, values, err);
    if (r < 0)
        return r;
    if (language->compile)
        r = make_step(language, "compile", language->compile, values, &steps[n++], err);
    if (r == 0)
        r = make_step(language, "run", language->run, values, &steps[n++], err);
    if (r == 0)
        *ret_n = n;
    return r;
}

int language_check(const struct language *language, const struct language_source *source,
                   const struct limits *limits, struct language_step *ret, struct gb_err *err)
{
    struct value values[N_VALUES];
    int r;

    memset(ret, 0, sizeof(*ret));
    if (!language->check)
        return 0;
    r = set_values(language, source, limits, values, err);
    return r < 0 ? r : make_step(language, "check", language->check, values, ret, err);
}

void language_step_clear(struct language_step *step)
{
    for (size_t i = 0; i < LANGUAGE_ARGS_MAX; i++)
        free(step->argv[i]);
    for (size_t i = 0; i < LANGUAGE_ENV_MAX; i++)
        free(step->env[i]);
    memset(step, 0, sizeof(*step));
}

void language_steps_clear(struct language_step steps[static 2])
{
    for (size_t i = 0; i < 2; i++)
        language_step_clear(&steps[i]);
}
