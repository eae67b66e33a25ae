/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor_host.h - what `doctor` tells of this machine besides the walls. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define DOCTOR_PROGRAMS_MAX 24
#define DOCTOR_NOTES_MAX    12

/* A language's program: which one a box sees, and which one the user's own PATH has. */
struct doctor_program {
    const char *language;
    const char *name;
    char in_box[PATH_MAX];
    char on_path[PATH_MAX];
    char remedy[PATH_MAX + 128]; /* the line that would bring it in */
};

struct doctor_host {
    struct doctor_program programs[DOCTOR_PROGRAMS_MAX];
    size_t n_programs;
    bool has_docker; /* an engine answers, */
    bool can_docker; /* and has what a box needs; */
    bool has_image;  /* the image, too */
    char image[160]; /* that boxes would be made of; "": not looked for */
    char docker[320];
    char notes[DOCTOR_NOTES_MAX][256]; /* settings of the kernel that matter */
    size_t n_notes;
};

/* Settings of the kernel, read below that directory (/proc/sys). */
void doctor_kernel_look(struct doctor_host *host, const char *settings);

struct box_engine;

/* Asks the engine, if there is one, also for that image. */
void doctor_engine_look(struct doctor_host *host, const struct box_engine *wish, const char *image);

void doctor_host_look(struct doctor_host *host, const char *const *toolchains, char *const *env);
