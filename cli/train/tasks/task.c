#include "task.h"

#include "../classifier.h"
#include "../../term/log.h"

#include <string.h>

static const task *const tasks[] = {&task_classify, &task_regress, &task_multi_label, &task_autoencode, &task_segment,
                                    &task_tag,      &task_detect,  &task_keypoints,   &task_heads,      &task_ctc,
                                    &task_embed,    &task_dense,   &task_track};
enum { TASKS = sizeof tasks / sizeof *tasks };

const task *task_of(task_kind kind) {
    for (int i = 0; i < TASKS; i++)
        if (tasks[i]->kind == kind) return tasks[i];
    return NULL;
}

const task *task_named(const char *name) {
    for (int i = 0; i < TASKS; i++)
        if (strcmp(tasks[i]->name, name) == 0) return tasks[i];
    return NULL;
}

int task_check_classes(const classifier *c, const char *what) {
    if (c->task->kind == TASK_CLASSIFY) return CLI_OK;
    return log_fail(CLI_USAGE, "%s is for models that tell classes apart; this one was trained with --task %s", what,
                    c->task->name);
}
