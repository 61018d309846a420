// Colours between those of the palette, so that light and dark desktops are followed.
#pragma once
#include <QColor>

inline QColor mixed(const QColor& a, const QColor& b, double part_of_b) {
  const auto mix = [&](int x, int y) { return static_cast<int>(x + (y - x) * part_of_b); };
  return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}
