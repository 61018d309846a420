// What the files of the C ABI use of g4: their functions lie outside the namespace. Only for those files.
#pragma once
#include "base/status.h"
#include "capi/error.h"
#include "capi/events.h"
#include "capi/handles.h"
#include "capi/structs.h"

using g4::argument_error;
using g4::check_count;
using g4::check_flags;
using g4::event_of;
using g4::guarded;
using g4::progress_events;
using g4::read_struct;
using g4::require;
using g4::Status;
using g4::StatusOr;
using g4::StrCat;
using g4::write_buffer;
using g4::write_struct;
